import { createHmac, timingSafeEqual } from 'node:crypto'
import { deviceAddress } from '#actors/device/device'
import { firmwareIndex, isFirmwareKnown, projectDeviceIndex } from '#actors/device/firmware-index'
import type { DeviceState } from '#actors/device/state'
import { isTenantActive } from '#actors/directory/queries'
import { projectAddress } from '#actors/project/state'
import { defaultTenant } from '#actors/tenant/state'
import {
  type PublishedUpdate,
  publishedStateAt,
  type StoredUpdate,
  updateAddress,
  updateRecord,
} from '#actors/update/state'
import type { ListQuery } from '#api/fields'
import * as api from '#api/updates'
import { type Binding, bind, type Call, type Reply } from '#http/call'
import { parseJson } from '#http/validation'
import { unauthenticated } from '#model/caller'
import type { Firmware } from '#model/entry'
import type { FirmwareEntry, FirmwareInformation, UpdateEntry, UpdateStatus } from '#model/firmware'
import { deviceIdentifierOf, isShortName } from '#model/identifier'
import { Problem } from '#model/problem'
import { devicesWithin } from '#model/scope'
import type { UpdateQuery } from '#model/update-offer'
import type { RouteContext } from '#routes/context'
import { deviceNames } from '#routes/devices'
import { listReply, streamHeaders, textReply } from '#routes/replies'
import { checkCurrent } from '#runtime/slices'

/** Routes for the firmware of devices, and for the hook of the update server. §4.5, contract 6. */
export function updateRoutes(context: RouteContext): Binding[] {
  return [
    bind(api.listUpdates, (call) => list(context, call)),
    bind(api.readUpdate, (call) => read(context, call, call.parameters.deviceIdentifier)),
    bind(api.triggerUpdate, async ({ caller, parameters, seed, signal }) => {
      const { tenant } = caller
      const json = await context.firmware.updater.trigger({ tenant, device: parameters.deviceIdentifier, seed, signal })
      return { status: 200, json }
    }),
    bind(api.callUpdateHook, (call) => receiveHook(context, call, call.parameters.projectIdentifier)),
  ]
}

/** From this depth on, results of updates are included. */
const updateDepth = 2

/** A single answer waits this long for the update server; a list does not wait. */
const freshWaitMs = 2000

function list(context: RouteContext, call: Call<unknown, ListQuery>): Promise<Reply> {
  const { caller, query } = call
  const { tenant } = caller
  const depth = query.depth ?? 0
  const known = (device: string) => knownDevice(context, tenant, device)
  const devicesWithFirmware = (after: string) => context.listing.entries(firmwareIndex, tenant, '', after)
  return listReply(context, call, {
    headers: streamHeaders(context, tenant),
    names: deviceNames(context, tenant, query, devicesWithFirmware),
    isShown: devicesWithin(caller.scope, 'updates', 'read'),
    isMatching: query.deviceIdentifier && ((device) => known(device) !== undefined),
    textOf: (device) => {
      const state = known(device)
      return state && JSON.stringify(informationOf(context, tenant, state, depth))
    },
  })
}

async function read(context: RouteContext, call: Call<unknown, ListQuery>, device: string): Promise<Reply> {
  const { tenant } = call.caller
  const depth = call.query.depth ?? 1
  const before = existingUpdates(context, tenant, device)
  if (depth > 0) {
    const updateQueries = queriesOf(tenant, before)
    await Promise.all(updateQueries.map((updateQuery) => context.firmware.checks.freshOf(updateQuery, freshWaitMs)))
    checkCurrent(call.caller)
  }
  const state = depth > 0 ? existingUpdates(context, tenant, device) : before
  return textReply(context, JSON.stringify(informationOf(context, tenant, state, depth)))
}

/** Undefined if there is nothing to show. */
function knownDevice(context: RouteContext, tenant: string, device: string): DeviceState | undefined {
  const state = context.system.peek(deviceAddress(tenant, device))
  return state && isFirmwareKnown(state) ? state : undefined
}

/** @throws Problem `not_found` */
function existingUpdates(context: RouteContext, tenant: string, device: string): DeviceState {
  const state = knownDevice(context, tenant, device)
  if (!state) throw new Problem('not_found')
  return state
}

function informationOf(context: RouteContext, tenant: string, state: DeviceState, depth: number): FirmwareInformation {
  const { device: deviceIdentifier, project, firmwares } = state
  if (depth < 1) return { deviceIdentifier, project }
  const stored =
    depth < updateDepth
      ? undefined
      : (context.system.recordOf(updateAddress(tenant, deviceIdentifier), updateRecord) as StoredUpdate | undefined)
  return {
    deviceIdentifier,
    project,
    firmwares: [...firmwares]
      .sort((one, next) => one.index - next.index)
      .map((firmware) => firmwareEntryOf(context, tenant, state, firmware, stored)),
  }
}

function firmwareEntryOf(
  { firmware: { checks } }: RouteContext,
  tenant: string,
  { device, project }: DeviceState,
  firmware: Firmware,
  stored: StoredUpdate | undefined,
): FirmwareEntry {
  const updateAvailable = project !== null && (checks.knownOf(questionOf(tenant, device, project, firmware)) ?? false)
  const summary = stored && publishedStateAt(stored, firmware.index)
  return { ...firmware, updateAvailable, ...(summary && { update: updateEntryOf(summary) }) }
}

/** The state of an update, in the form of its events. */
function updateEntryOf({ index: _, status, ...summary }: PublishedUpdate): UpdateEntry {
  return { ...summary, status: status.toUpperCase() as UpdateStatus }
}

function queriesOf(tenant: string, { device, project, firmwares }: DeviceState): readonly UpdateQuery[] {
  return project === null ? [] : firmwares.map((firmware) => questionOf(tenant, device, project, firmware))
}

/** The question to the update server. An update is available if a manual request would start one. */
function questionOf(tenant: string, device: string, project: string, of: Firmware): UpdateQuery {
  const { firmware, hardware, index } = of
  return { tenant, device, project, firmware, index, isAutomatic: false, ...(hardware !== undefined && { hardware }) }
}

/** Up to this many devices are scanned by name; for more, the whole project is scanned. */
const namedMax = 10_000

/** Answers when the request is stored: the scan takes longer. */
async function receiveHook(context: RouteContext, call: Call, project: string): Promise<Reply> {
  const { caller } = call
  const isSigned = caller === unauthenticated
  if (isSigned) checkSignature(context, call)
  const { tenant, devices } = hookTarget(call.bodyBytes, isSigned ? defaultTenant : caller.tenant)
  const isReached = isSigned ? isTenantActive(context.system, tenant) : tenant === caller.tenant
  if (!isReached || !isShortName(project)) return { status: 204 }
  context.firmware.checks.doubtProject(tenant, project)
  if (await hasDevices(context, tenant, project)) {
    const request = { by: 'hook', devices, author: isSigned ? null : caller.user } as const
    await context.system.ask(projectAddress(tenant, project), { type: 'scan', request })
  }
  return { status: 204 }
}

/** @throws Problem `unauthorized`, also without a secret: then no signature is valid */
function checkSignature({ firmware: { hookSecret }, world }: RouteContext, call: Call): void {
  const signed = { path: call.target.path, body: call.bodyBytes }
  // An empty secret is public, so its signatures are invalid.
  const isValid =
    hookSecret !== undefined &&
    hookSecret !== '' &&
    isHookSigned(call.header(api.hookSignatureHeader), signed, hookSecret, world.now())
  if (!isValid) throw new Problem('unauthorized', 'invalid hook signature')
}

interface HookTarget {
  readonly tenant: string
  /** The named devices. Null: all devices of the project. */
  readonly devices: readonly string[] | null
}

/**
 * Missing or invalid `devices` mean the whole project; the request is never refused because of its body. An unknown
 * tenant has no devices.
 */
function hookTarget(bytes: Uint8Array, ownTenant: string): HookTarget {
  const { tenant = ownTenant, devices } = fieldsOf(bytes)
  return { tenant: typeof tenant === 'string' ? tenant : '', devices: namesOf(devices) }
}

function fieldsOf(bytes: Uint8Array): { readonly tenant?: unknown; readonly devices?: unknown } {
  try {
    return Object(parseJson(bytes))
  } catch (error) {
    if (error instanceof Problem) return {}
    throw error
  }
}

function namesOf(devices: unknown): readonly string[] | null {
  if (!Array.isArray(devices) || devices.length > namedMax) return null
  const names = devices.map((name) => (typeof name === 'string' ? deviceIdentifierOf(name) : undefined))
  const known = new Set(names.filter((name) => name !== undefined))
  return names.includes(undefined) ? null : [...known]
}

/** Whether the project has devices. Without devices no scan is stored. */
async function hasDevices({ listing }: RouteContext, tenant: string, project: string): Promise<boolean> {
  const pages = listing.entries(projectDeviceIndex, tenant, `${project}/`)
  try {
    return (await pages.next(1)).length > 0
  } finally {
    await pages.close()
  }
}

/** Maximum difference between the clocks of the signer and of this server. */
const skewSecondsMax = 300

export interface SignedCall {
  /** As received, without the query. */
  readonly path: string
  readonly body: Uint8Array
}

/**
 * Whether a call of the update hook has a valid signature: `t=<Unix seconds>,sha256=<hex>`, the HMAC-SHA-256 of
 * `t.path.body`, byte for byte. The fields may have any order, each occurs once; unknown fields are ignored. Contract
 * 6.
 *
 * @param header repeated headers joined by a comma, so that two of them repeat a field
 * @param now Unix ms
 */
export function isHookSigned(header: string, { path, body }: SignedCall, secret: string, now: number): boolean {
  const fields = signatureFieldsOf(header)
  const time = fields?.get('t') ?? ''
  const signature = fields?.get('sha256') ?? ''
  if (!/^\d{1,12}$/.test(time) || !/^[0-9a-f]{64}$/i.test(signature)) return false
  const expected = createHmac('sha256', secret).update(`${time}.${path}.`).update(body).digest()
  // Compared in constant time and before the time is checked, so that the duration does not help to guess a signature.
  const isMatching = timingSafeEqual(expected, Buffer.from(signature, 'hex'))
  return isMatching && Math.abs(now - Number(time) * 1000) <= skewSecondsMax * 1000
}

/** Undefined if a field is invalid or repeated. */
function signatureFieldsOf(header: string): ReadonlyMap<string, string> | undefined {
  const fields = new Map<string, string>()
  for (const text of header.split(',')) {
    const [, name, value] = /^\s*([a-z0-9]+)=(\S*)\s*$/.exec(text) ?? []
    if (name === undefined || value === undefined || fields.has(name)) return undefined
    fields.set(name, value)
  }
  return fields
}
