import type { DeclaredService } from '#actors/device/commands'
import { declare } from '#actors/device/declaration'
import { absentDevice, type DeviceState, serviceOf } from '#actors/device/state'
import { type DeviceChange, stateAfter } from '#actors/device/state-changes'
import { jsonMemoryOf } from '#actors/device/value-memory'
import { type TenantCommand, tenantAddress } from '#actors/tenant/commands'
import type { TenantMemory } from '#actors/tenant/state'
import type { Entry, Reported } from '#model/entry'
import type { JsonObject, JsonValue } from '#model/json-value'
import { Problem } from '#model/problem'
import { type Decision, type Recorded, refuse, type Turn } from '#runtime/actor'

/** Limits for the memory of device states. */
export interface MemoryBytesMax {
  readonly deviceBytesMax: number
  /** For all devices of a tenant together, including those that are not loaded, because all may be loaded at once. */
  readonly tenantBytesMax: number
}

/** A device above a limit that was lowered still works: only changes that make it larger are refused. */
export interface MemoryLimits extends MemoryBytesMax {
  /** The current memory of the tenant's devices. */
  readonly of: (tenant: string) => TenantMemory
}

/**
 * 4 MiB: nearly 64 values of the largest size, or almost 35 000 numbers. The configuration sets the limit of a tenant.
 */
export const defaultMemory: MemoryBytesMax = {
  deviceBytesMax: 4 * 1024 * 1024,
  tenantBytesMax: Number.POSITIVE_INFINITY,
}

const noMemory: TenantMemory = { bytes: 0, byDevice: new Map() }

export const unlimitedMemory: MemoryLimits = {
  deviceBytesMax: Number.POSITIVE_INFINITY,
  tenantBytesMax: Number.POSITIVE_INFINITY,
  of: () => noMemory,
}

/** Three numbers and a pointer, 8 bytes each (`ServiceState`). */
const propertyBytes = 32
/**
 * A property's part of its shape: 84 bytes were measured, rounded up to a multiple of 8. Included in the size of a
 * device, which may be the only one with its shape; left out of a tenant's size, because equal devices share a shape.
 */
const shapeBytesPerProperty = 88
/** A device reports its size to its tenant in steps of this size, so reports are rare. Smaller devices count as 0. */
export const countedBytesStep = 16 * 1024

interface Size {
  /** Bytes without the shapes of the services. */
  readonly own: number
  /** Bytes with the shapes of the services. */
  readonly whole: number
}

/** Refuses a decision that makes the device or its tenant too large, and reports the device's size to the tenant. */
export function limitMemory(
  state: DeviceState,
  decision: Decision<Entry>,
  { tenant }: Turn,
  limits: MemoryLimits,
): Decision<Entry> {
  if (decision.type !== 'record' || isReportOfSameSize(state, decision)) return decision
  const after = sizeAfter(state, decision.events, decision.changes as readonly DeviceChange[] | undefined)
  if (after === undefined) return decision
  // A new device is not refused: the caller has checked the limits, and the tenant has admitted it already.
  const fault = state.exists ? growthProblem(state, after, tenant, limits) : undefined
  return fault ? refuse(fault) : withSizeReport(state.device, decision, after, tenant, limits)
}

/**
 * The error if this declaration and the reports after it would make the device or its tenant too large. For callers
 * that must know this before the turn, because they create the device or move it to another link.
 */
export function memoryProblem(
  state: DeviceState,
  services: readonly DeclaredService[],
  reports: readonly Reported[],
  tenant: string,
  limits: MemoryLimits,
): Problem | undefined {
  const { entries, changes } = declare(state, services, 0)
  const after = sizeAfter({ ...state, exists: true }, [...entries, ...reports], changes)
  return after && growthProblem(state, after, tenant, limits)
}

/** The error if a new device with this metadata is too large. */
export function metaMemoryProblem(
  device: string,
  meta: JsonObject,
  tenant: string,
  limits: MemoryLimits,
): Problem | undefined {
  const state = absentDevice(device)
  return growthProblem(state, sizeOf({ ...state, meta }), tenant, limits)
}

function growthProblem(state: DeviceState, after: Size, tenant: string, limits: MemoryLimits): Problem | undefined {
  const { deviceBytesMax, tenantBytesMax } = limits
  const before = sizeOf(state)
  if (after.whole > deviceBytesMax && after.whole > before.whole) {
    const text = `${state.device} would take ${after.whole} bytes of memory, more than DEVICE_BYTES_MAX, ${deviceBytesMax}`
    return new Problem('memory_full', text)
  }
  if (after.own <= before.own) return undefined
  const { bytes, byDevice } = limits.of(tenant)
  const growth = countedBytes(after) - (byDevice.get(state.device) ?? 0)
  if (growth <= 0 || bytes + growth <= tenantBytesMax) return undefined
  const text = `the devices of the tenant would take ${bytes + growth} bytes of memory, more than TENANT_BYTES_MAX, ${tenantBytesMax}`
  return new Problem('memory_full', text)
}

function withSizeReport(
  device: string,
  decision: Recorded<Entry>,
  after: Size,
  tenant: string,
  limits: MemoryLimits,
): Recorded<Entry> {
  const bytes = countedBytes(after)
  if (bytes === (limits.of(tenant).byDevice.get(device) ?? 0)) return decision
  const command: TenantCommand = { type: 'device_sized', device, bytes }
  return { ...decision, tells: [...(decision.tells ?? []), { to: tenantAddress(tenant), command }] }
}

function countedBytes({ own }: Size): number {
  return own - (own % countedBytesStep)
}

/** Whether the decision is one report that does not change the size. Fast for numbers that replace numbers. */
function isReportOfSameSize(state: DeviceState, { events, changes }: Recorded<Entry>): boolean {
  if (changes !== undefined || events.length !== 1) return false
  const event = events[0] as Entry
  return event.kind === 'reported' && serviceOf(state, event.shape.serviceIdentifier)?.growthBy(event.items) === 0
}

/** Undefined if the size does not change. */
function sizeAfter(
  state: DeviceState,
  entries: readonly Entry[],
  changes: readonly DeviceChange[] | undefined,
): Size | undefined {
  const only = entries.length === 1 ? entries[0] : undefined
  const declared = changes?.filter(({ type }) => type === 'service_declared') ?? []
  if (declared.length === 0 && entries.every((entry) => growthBy(state, entry) === 0)) return undefined
  if (declared.length === 0 && only?.kind === 'reported') {
    const growth = growthBy(state, only) as number
    const { own, whole } = sizeOf(state)
    return { own: own + growth, whole: whole + growth }
  }
  return sizeOf(stateAfter(state, entries.filter(isAboutMemory).map(withoutRules), declared))
}

/** The growth in bytes by an entry; undefined if it is only known after applying the entry. */
function growthBy(state: DeviceState, entry: Entry): number | undefined {
  if (entry.kind === 'reported') return serviceOf(state, entry.shape.serviceIdentifier)?.growthBy(entry.items)
  return isAboutMemory(entry) ? undefined : 0
}

function isAboutMemory({ kind }: Entry): boolean {
  return !(kind === 'status_changed' || kind === 'discovered' || kind.startsWith('alarm_'))
}

/**
 * The entry without alarms and throttles. It is applied to a copy that shares these with the device's state, so applying
 * them would change the device.
 */
function withoutRules(entry: Entry): Entry {
  if (entry.kind !== 'reported' || (entry.alarms === undefined && entry.throttles === undefined)) return entry
  const { alarms: _, throttles: __, ...reported } = entry
  return reported satisfies Reported
}

function sizeOf({ services, meta, desired }: DeviceState): Size {
  let own = memoryOf(meta)
  for (const items of desired.values()) own += memoryOf(items as unknown as JsonObject)
  let properties = 0
  for (const service of services) {
    own += service.valueBytes
    properties += service.shape.properties.length
  }
  own += properties * propertyBytes
  return { own, whole: own + properties * shapeBytesPerProperty }
}

const measured = new WeakMap<object, number>()

/**
 * Measured once per object: metadata and desired values rarely change, but every report that changes the size needs the
 * size of the whole device.
 */
function memoryOf(value: JsonValue & object): number {
  let bytes = measured.get(value)
  if (bytes === undefined) {
    bytes = jsonMemoryOf(value)
    measured.set(value, bytes)
  }
  return bytes
}
