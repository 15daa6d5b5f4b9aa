import type { Columns } from '#history/points'
import type { Retentions } from '#history/retention'
import { type SeriesOfDevice, type SeriesTable, statusKind } from '#history/series-table'
import { type Entry, isPropertyError, type PropertyState } from '#model/entry'
import { retentionsIn } from '#model/history-retention'
import { DeviceStatus } from '#model/meta'
import type { PropertyValue } from '#model/property-type'
import type { Shape } from '#model/shape'
import { readChunk, type ShapesById } from '#store/chunk'
import { EntryReader, readEntry, reportedCode } from '#store/entry-codec'

/** Receives the points and marks of a chunk. */
export interface WalkTarget {
  readonly table: SeriesTable
  readonly columns: Columns
  readonly retentions: Retentions
  /** Unix ms. Determines which points are too old. */
  readonly now: number
  removed(device: SeriesOfDevice): void
}

const reader = new EntryReader()

/**
 * Adds the points of a chunk to the columns, from an offset on. Reports are the most frequent entries, so they are read
 * without creating an `Entry`.
 */
export function walkChunk(
  { tenant, firstOffset, bytes }: { readonly tenant: string; readonly firstOffset: number; readonly bytes: Uint8Array },
  from: number,
  shapes: ShapesById,
  target: WalkTarget,
): void {
  readChunk(reader, bytes, (ids, count) => {
    const places = ids.map((id) => shapes.byId(id))
    const shapeAt = (place: number) => places[place] as Shape
    const known = { placeOf: () => 0, shapeAt }
    const devices = target.table.devicesByAddress(tenant)
    for (let offset = firstOffset; offset < firstOffset + count; offset++) {
      if (offset < from) reader.pass(1)
      else if (!walkReport(tenant, devices, shapeAt, target)) applyEntry(tenant, readEntry(reader, known), target)
    }
    return count
  })
}

/** Returns false, and stays before the entry, if the entry is not a report. */
function walkReport(
  tenant: string,
  devices: Map<number, SeriesOfDevice>,
  shapeAt: (place: number) => Shape,
  target: WalkTarget,
): boolean {
  const before = reader.place
  const length = reader.array()
  if (reader.number() !== reportedCode) {
    reader.back(before)
    return false
  }
  const { table, columns } = target
  const nameAt = reader.place
  reader.pass(1)
  const flakeAddress = reader.number()
  let device = devices.get(flakeAddress)
  if (!device) {
    reader.back(nameAt)
    device = ofAddress(table.device(tenant, reader.text()), flakeAddress, target)
    reader.pass(1)
    devices.set(flakeAddress, device)
  }
  const shape = shapeAt(reader.number())
  const series = table.seriesOf(device, shape)
  const at = reader.number()
  const time = reader.passNull() ? at : reader.number()
  reader.pass(1)
  const isKept = isKeptBy(target, tenant, shape, time)
  for (let left = reader.array(); left > 0; left -= 2) {
    const place = reader.number()
    const id = series.idAt(place)
    const state = reader.any() as PropertyState
    if (!isKept(place)) continue
    if (typeof state === 'number') columns.push(id, time, state)
    else addState(id, time, state, columns)
  }
  reader.pass(length - 8)
  return true
}

/**
 * Returns `device` if its address is equal or unknown. If its address differs, skipped entries have deleted the device
 * and created another one of the same name, so a new device replaces it.
 */
function ofAddress(device: SeriesOfDevice, flakeAddress: number, { table, removed }: WalkTarget): SeriesOfDevice {
  if (device.flakeAddress === flakeAddress) return device
  if (device.flakeAddress !== 0) removed(device)
  const created = table.device(device.tenant, device.name)
  table.identify(created, flakeAddress)
  return created
}

function applyEntry(tenant: string, entry: Entry, target: WalkTarget): void {
  const { table, columns } = target
  switch (entry.kind) {
    case 'reported':
    case 'declared': {
      const device = ofAddress(table.device(tenant, entry.device), entry.flakeAddress, target)
      if (entry.kind === 'declared') markRemoved(device, entry.shape.serviceIdentifier, entry, target)
      const series = table.seriesOf(device, entry.shape)
      const time = entry.kind === 'reported' ? entry.timestamp : entry.at
      const isKept = isKeptBy(target, tenant, entry.shape, time)
      for (let index = 0; index < entry.items.length; index += 2) {
        const place = entry.items[index] as number
        if (isKept(place)) addState(series.idAt(place), time, entry.items[index + 1] as PropertyState, columns)
      }
      return
    }
    case 'undeclared':
      markRemoved(
        ofAddress(table.device(tenant, entry.device), entry.flakeAddress, target),
        entry.service,
        entry,
        target,
      )
      return
    case 'discovered':
      ofAddress(table.device(tenant, entry.device), entry.flakeAddress, target)
      return
    case 'status_changed': {
      const id = table.idOf(table.device(tenant, entry.device), statusKind)
      columns.push(id, entry.at, DeviceStatus.options.indexOf(entry.status))
      return
    }
    // Before `device_added`, a skipped entry may have deleted a device of this name.
    case 'device_added':
    case 'device_removed': {
      const device = table.find(tenant, entry.device)
      if (device) target.removed(device)
      return
    }
    case 'schema_set':
      target.retentions.set(tenant, entry.service, retentionsIn(entry.schema))
      return
    case 'schema_deleted':
      target.retentions.set(tenant, entry.service, new Map())
      return
    default:
  }
}

const kept = () => true
const notKept = () => false

/** Whether points of this time are stored, by the index of their property in the shape. */
function isKeptBy(
  { retentions, now }: WalkTarget,
  tenant: string,
  { serviceIdentifier, properties }: Shape,
  time: number,
): (place: number) => boolean {
  const own = retentions.ofService(tenant, serviceIdentifier)
  const isKeptByServer = time >= retentions.oldestOfServer(now)
  if (!own) return isKeptByServer ? kept : notKept
  return (place) => {
    const retention = own.get(properties[place]?.propId ?? -1)
    return retention ? time >= retentions.oldestStored(retention, now) : isKeptByServer
  }
}

/** Adds a mark for each removed property that has a series. */
function markRemoved(
  device: SeriesOfDevice,
  service: string,
  { removed, at }: Extract<Entry, { readonly kind: 'declared' | 'undeclared' }>,
  { columns, retentions }: WalkTarget,
): void {
  const own = retentions.ofService(device.tenant, service)
  for (const { propId, type } of removed) {
    if (own?.get(propId)?.isKept === false) continue
    const id = device.idOf({ service, propId, type })
    if (id !== undefined) columns.pushText(id + 1, at, '{"tag":"removed"}')
  }
}

/** Adds a value to a series, or an error to its marks. */
function addState(id: number, time: number, state: PropertyState, columns: Columns): void {
  if (state === null) return
  if (typeof state === 'number') columns.push(id, time, state)
  else if (typeof state === 'boolean') columns.push(id, time, state ? 1 : 0)
  else if (isPropertyError(state)) columns.pushText(id + 1, time, JSON.stringify({ tag: 'error', error: state.error }))
  else columns.pushText(id, time, JSON.stringify(state))
}

/** Points of one property that come from elsewhere, not from the stream. */
export interface ImportedSeries {
  readonly tenant: string
  readonly device: string
  readonly flakeAddress: number
  readonly service: string
  readonly propId: number
  /** Lower-case name of its type. */
  readonly type: string
  /** Unix ms, in any order. */
  readonly times: readonly number[]
  /** The values in their normal form, one for each time. */
  readonly values: readonly PropertyValue[]
}

/** Adds the points of a series to the columns. Returns how many were left out because they are too old. */
export function addImported(
  { tenant, device: name, flakeAddress, service, propId, type, times, values }: ImportedSeries,
  target: WalkTarget,
): number {
  const { table, columns, retentions, now } = target
  const known = table.device(tenant, name)
  // The device was deleted and created again during the import.
  if (known.flakeAddress > flakeAddress) return 0
  const device = ofAddress(known, flakeAddress, target)
  const oldest = retentions.oldestStored(retentions.of(tenant, { service, propId }), now)
  const id = table.idOf(device, { service, propId, type })
  let tooOld = 0
  for (const [place, time] of times.entries()) {
    if (time < oldest) tooOld++
    else addState(id, time, values[place] ?? null, columns)
  }
  return tooOld
}
