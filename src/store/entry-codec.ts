import type { StoredAlarm } from '#model/alarm'
import type { Entry, EntryKind, Items, RemovedProperty, Stamps, Waits } from '#model/entry'
import type { UpdateState } from '#model/firmware'
import type { JsonObject } from '#model/json-value'
import type { ServiceSchema } from '#model/service-schema'
import type { Shape } from '#model/shape'
import type { StoredSubscription } from '#model/subscription'
import type { EntryReader, KnownDevice, KnownReport, ReportSearch } from '#store/entry-reader'
import type { EntryWriter } from '#store/entry-writer'
import { pack } from '#store/record-codec'

/**
 * The stored form of entries: an array whose first element is the number of the kind. It is compact because one is
 * written for every change: field names are not stored, and shapes are given by their index in the list of the chunk.
 *
 * The numbers are on disk. A new field goes to the end and is optional when it is read. A kind whose meaning changes
 * gets a new number, and the code that reads the old one stays.
 */
type Packed = readonly [code: number, ...fields: unknown[]]

/** Assigns shapes their indexes in a chunk. */
export interface ShapePlaces {
  placeOf(shape: Shape): number
  shapeAt(place: number): Shape
}

interface EntryForm<E extends Entry> {
  readonly code: number
  pack(entry: E, shapes: ShapePlaces): Packed
  unpack(packed: Packed, shapes: ShapePlaces): E
}

type Forms = { readonly [K in EntryKind]: EntryForm<Extract<Entry, { kind: K }>> }

const forms: Forms = {
  reported: {
    code: 1,
    // The timestamp is null when it equals the arrival, as it usually does. `session` is present only when a session
    // begins, `alarms` only when an alarm begins or ends to wait, `throttles` only when a throttle passes an event. An
    // absent field before a present one is null.
    pack: (e, shapes) => {
      const timestamp = e.timestamp === e.at ? null : e.timestamp
      const place = shapes.placeOf(e.shape)
      const packed: Packed = [1, e.device, e.flakeAddress, place, e.at, timestamp, e.seq, e.items]
      if (e.throttles !== undefined) return [...packed, e.session ?? null, e.alarms ?? null, e.throttles]
      if (e.alarms !== undefined) return [...packed, e.session ?? null, e.alarms]
      return e.session === undefined ? packed : [...packed, e.session]
    },
    unpack: (packed, shapes) => {
      const [, device, flakeAddress, place, at, timestamp, seq, items, session, alarms, throttles] =
        packed as unknown as [
          number,
          string,
          number,
          number,
          number,
          number | null,
          number,
          Items,
          (string | null)?,
          (Waits | null)?,
          Stamps?,
        ]
      const entry = {
        kind: 'reported' as const,
        device,
        flakeAddress,
        shape: shapes.shapeAt(place),
        at,
        timestamp: timestamp ?? at,
        seq,
        items,
      }
      if (packed.length <= 8) return entry
      return {
        ...entry,
        ...(!(session === null && packed.length > 9) && { session: session ?? '' }),
        ...(alarms !== undefined && alarms !== null && { alarms }),
        ...(throttles !== undefined && { throttles }),
      }
    },
  },
  declared: {
    code: 2,
    pack: (e, shapes) => [
      2,
      e.device,
      e.flakeAddress,
      shapes.placeOf(e.shape),
      e.at,
      e.items,
      e.removed.map(packRemoved),
    ],
    unpack: ([, device, flakeAddress, place, at, items, removed], shapes) => ({
      kind: 'declared',
      device: device as string,
      flakeAddress: flakeAddress as number,
      shape: shapes.shapeAt(place as number),
      at: at as number,
      items: items as Items,
      removed: (removed as PackedRemoved[]).map(unpackRemoved),
    }),
  },
  undeclared: {
    code: 3,
    pack: (e) => [3, e.device, e.flakeAddress, e.service, e.at, e.removed.map(packRemoved)],
    unpack: ([, device, flakeAddress, service, at, removed]) => ({
      kind: 'undeclared',
      device: device as string,
      flakeAddress: flakeAddress as number,
      service: service as string,
      at: at as number,
      removed: (removed as PackedRemoved[]).map(unpackRemoved),
    }),
  },
  device_added: {
    code: 4,
    pack: (e) => [4, e.device, e.flakeAddress, e.at],
    unpack: ([, device, flakeAddress, at]) => ({
      kind: 'device_added',
      device: device as string,
      flakeAddress: flakeAddress as number,
      at: at as number,
    }),
  },
  device_removed: {
    code: 5,
    pack: (e) => [5, e.device, e.flakeAddress, e.at],
    unpack: ([, device, flakeAddress, at]) => ({
      kind: 'device_removed',
      device: device as string,
      flakeAddress: flakeAddress as number,
      at: at as number,
    }),
  },
  status_changed: {
    code: 6,
    pack: (e) => [6, e.device, e.at, statuses.indexOf(e.status), e.lastMessage, e.lastConnect, e.numConnects],
    unpack: ([, device, at, status, lastMessage, lastConnect, numConnects]) => ({
      kind: 'status_changed',
      device: device as string,
      at: at as number,
      status: statuses[status as number] ?? 'offline',
      lastMessage: lastMessage as number,
      lastConnect: lastConnect as number,
      numConnects: numConnects as number,
    }),
  },
  discovered: {
    code: 7,
    pack: (e) => [
      7,
      e.device,
      e.flakeAddress,
      e.at,
      e.project,
      e.firmwares.map(({ firmware, hardware, index }) => [firmware, hardware ?? null, index]),
      e.isAutoUpdated,
    ],
    unpack: ([, device, flakeAddress, at, project, firmwares, isAutoUpdated]) => ({
      kind: 'discovered',
      device: device as string,
      flakeAddress: flakeAddress as number,
      at: at as number,
      project: project as string | null,
      firmwares: (firmwares as [string, string | null, number][]).map(([firmware, hardware, index]) =>
        hardware === null ? { firmware, index } : { firmware, hardware, index },
      ),
      isAutoUpdated: isAutoUpdated as boolean,
    }),
  },
  meta_set: {
    code: 8,
    pack: (e) => [8, e.device, e.at, e.meta],
    unpack: ([, device, at, meta]) => ({
      kind: 'meta_set',
      device: device as string,
      at: at as number,
      meta: meta as JsonObject,
    }),
  },
  meta_deleted: {
    code: 9,
    pack: (e) => [9, e.device, e.at, e.key],
    unpack: ([, device, at, key]) => ({
      kind: 'meta_deleted',
      device: device as string,
      at: at as number,
      key: key as string,
    }),
  },
  schema_set: {
    code: 10,
    pack: (e) => [10, e.service, e.at, e.isNew, e.schema],
    unpack: ([, service, at, isNew, schema]) => ({
      kind: 'schema_set',
      service: service as string,
      at: at as number,
      isNew: isNew as boolean,
      schema: schema as ServiceSchema,
    }),
  },
  schema_deleted: {
    code: 11,
    pack: (e) => [11, e.service, e.at],
    unpack: ([, service, at]) => ({ kind: 'schema_deleted', service: service as string, at: at as number }),
  },
  alarm_set: {
    code: 12,
    pack: (e) => [12, e.alarm, e.at, e.stored],
    unpack: ([, alarm, at, stored]) => ({
      kind: 'alarm_set',
      alarm: alarm as string,
      at: at as number,
      stored: stored as StoredAlarm,
    }),
  },
  alarm_deleted: {
    code: 13,
    pack: (e) => [13, e.alarm, e.at, e.devices, e.groups],
    unpack: ([, alarm, at, devices, groups]) => ({
      kind: 'alarm_deleted',
      alarm: alarm as string,
      at: at as number,
      devices: devices as readonly string[] | null,
      groups: groups as readonly string[] | null,
    }),
  },
  alarm_changed: {
    code: 14,
    // The last field is present only when it is true.
    pack: (e) => [14, e.device, e.alarm, e.at, e.isActive, e.since, ...(e.isEnded ? [true] : [])],
    unpack: ([, device, alarm, at, isActive, since, isEnded]) => ({
      kind: 'alarm_changed',
      device: device as string,
      alarm: alarm as string,
      at: at as number,
      isActive: isActive as boolean,
      since: since as number,
      ...(isEnded === true && { isEnded }),
    }),
  },
  update_changed: {
    code: 15,
    pack: (e) => [
      15,
      e.device,
      e.at,
      e.index,
      updateStates.indexOf(e.status),
      e.firmware ?? null,
      e.progress ?? null,
      e.message ?? null,
    ],
    unpack: ([, device, at, index, status, firmware, progress, message]) => ({
      kind: 'update_changed',
      device: device as string,
      at: at as number,
      index: index as number,
      status: updateStates[status as number] ?? 'idle',
      ...(firmware !== null && { firmware: firmware as string }),
      ...(progress !== null && { progress: progress as number }),
      ...(message !== null && { message: message as string }),
    }),
  },
  // The name is the second element, as in all other kinds, so a search for entries about a name reads no further.
  subscribed: {
    code: 16,
    pack: (e) => [16, e.user, e.at, e.stored],
    unpack: ([, user, at, stored]) => ({
      kind: 'subscribed',
      at: at as number,
      user: user as string,
      stored: stored as StoredSubscription,
    }),
  },
  subscription_updated: {
    code: 17,
    pack: (e) => [17, e.user, e.at, e.stored],
    unpack: ([, user, at, stored]) => ({
      kind: 'subscription_updated',
      at: at as number,
      user: user as string,
      stored: stored as StoredSubscription,
    }),
  },
  unsubscribed: {
    code: 18,
    pack: (e) => [18, e.user, e.at, e.subscription],
    unpack: ([, user, at, subscription]) => ({
      kind: 'unsubscribed',
      at: at as number,
      user: user as string,
      subscription: subscription as string,
    }),
  },
}

/** The indexes are on disk. */
const statuses = ['online', 'idle', 'offline'] as const
const updateStates: readonly UpdateState[] = [
  'idle',
  'checking',
  'offering',
  'started',
  'downloading',
  'verifying',
  'installing',
  'rebooting',
  'done',
  'failed',
  'refused',
]

const byCode: readonly (EntryForm<Entry> | undefined)[] = Object.values(forms).reduce<EntryForm<Entry>[]>(
  (table, form) => {
    table[form.code] = form as unknown as EntryForm<Entry>
    return table
  },
  [],
)

/** The number of a kind in the stored form. */
export function codeOf(kind: EntryKind): number {
  return forms[kind].code
}

/** Appends the entry to the writer. */
export function packEntry(entry: Entry, shapes: ShapePlaces, writer: EntryWriter): void {
  if (entry.kind === 'reported' && writer.writeReported(forms.reported.code, shapes.placeOf(entry.shape), entry)) return
  writer.append(pack((forms[entry.kind] as EntryForm<Entry>).pack(entry, shapes)))
}

/**
 * Reads the next entry, with the result of `unpackEntry`.
 * @throws Error for a kind this release does not know.
 */
export function readEntry(reader: EntryReader, shapes: ShapePlaces): Entry {
  return reader.readReported(forms.reported.code, shapes.shapeAt) ?? unpackEntry(reader.any() as Packed, shapes)
}

/**
 * Reads the next entry if it is a report of a device that is known by its name; otherwise the reader stays where it is.
 */
export function readKnownReport<Known extends KnownDevice>(
  reader: EntryReader,
  offset: number,
  search: ReportSearch<Known>,
): KnownReport<Known> | undefined {
  return reader.readKnownReport(forms.reported.code, offset, search)
}

/** Skips the next entry. Returns the hash of the name after its kind: the name of its device, if it has one. */
export function passEntry(reader: EntryReader): number {
  const length = reader.array()
  reader.pass(1)
  const hash = reader.passForHash()
  reader.pass(length - 2)
  return hash
}

/** @throws Error for a kind this release does not know. */
export function unpackEntry(packed: Packed, shapes: ShapePlaces): Entry {
  const form = byCode[packed[0]]
  if (!form) throw new Error(`entries of kind ${packed[0]} were written by a newer release`)
  return form.unpack(packed, shapes)
}

type PackedRemoved = readonly [propId: number, type: string, modifier: number]

function packRemoved({ propId, type, modifier }: RemovedProperty): PackedRemoved {
  return [propId, type, modifier]
}

function unpackRemoved([propId, type, modifier]: PackedRemoved): RemovedProperty {
  return { propId, type, modifier }
}
