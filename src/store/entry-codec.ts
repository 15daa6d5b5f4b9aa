import { type DesiredItem, type PackedDesired, packDesired, unpackDesired } from '#model/desired'
import type {
  AlarmWaits,
  Entry,
  EntryKind,
  Firmware,
  PropertyState,
  RemovedProperty,
  Reported,
  Stamps,
} from '#model/entry'
import type { UpdateState } from '#model/firmware'
import type { Shape } from '#model/shape'
import { MsgpackReader } from '#store/msgpack-reader'
import { MsgpackWriter, pack } from '#store/record-codec'

/**
 * The stored form of an entry: an array whose first element is the number of the kind. It is compact because every
 * change writes an entry: field names are not stored, and a shape is given by its index in the chunk's list.
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

type EntryOf<Kind extends EntryKind> = Extract<Entry, { readonly kind: Kind }>

/** A field whose stored form differs from its form in an entry. `unpack` returns undefined if the entry lacks it. */
interface StoredField<Name> {
  readonly name: Name
  pack(value: unknown, shapes: ShapePlaces): unknown
  unpack(stored: unknown, shapes: ShapePlaces): unknown
}

/**
 * An entry as its code and these fields, in order. Trailing fields that the entry lacks are not stored, unless they are
 * `optional`.
 */
function fieldsOf<Kind extends EntryKind>(
  kind: Kind,
  code: number,
  ...fields: readonly (keyof EntryOf<Kind> | StoredField<keyof EntryOf<Kind>>)[]
): EntryForm<EntryOf<Kind>> {
  return {
    code,
    pack(entry, shapes) {
      const packed: [number, ...unknown[]] = [code]
      for (const field of fields)
        packed.push(typeof field === 'object' ? field.pack(entry[field.name], shapes) : entry[field])
      while (packed.at(-1) === undefined) packed.pop()
      return packed.map((field) => (field === undefined ? null : field)) as unknown as Packed
    },
    unpack(packed, shapes) {
      const entry: Partial<Record<keyof EntryOf<Kind>, unknown>> = {}
      entry.kind = kind
      fields.forEach((field, index) => {
        const stored = packed[index + 1]
        const value = typeof field === 'object' ? field.unpack(stored, shapes) : stored
        if (value !== undefined) entry[typeof field === 'object' ? field.name : field] = value
      })
      return entry as EntryOf<Kind>
    },
  }
}

/** A field that is stored as null if the entry lacks it. */
function optional<Name>(name: Name): StoredField<Name> {
  return { name, pack: (value) => value ?? null, unpack: (stored) => stored ?? undefined }
}

/** A field that an entry may lack. It is then stored as null if a later field is stored, and not at all otherwise. */
function omittable<Name>(name: Name): StoredField<Name> {
  return { name, pack: (value) => value, unpack: (stored) => stored ?? undefined }
}

/**
 * A field that is stored as its index in `names`, so their order is part of the format. An unknown index is read as
 * `otherwise`.
 */
function oneOf<Name>(name: Name, names: readonly string[], otherwise: string): StoredField<Name> {
  return {
    name,
    pack: (value) => names.indexOf(value as string),
    unpack: (stored) => names[stored as number] ?? otherwise,
  }
}

const shape = {
  name: 'shape',
  pack: (value: unknown, shapes: ShapePlaces) => shapes.placeOf(value as Shape),
  unpack: (stored: unknown, shapes: ShapePlaces) => shapes.shapeAt(stored as number),
} as const

const removed = {
  name: 'removed',
  pack: (value: unknown) =>
    (value as readonly RemovedProperty[]).map(({ propId, type, modifier }) => [propId, type, modifier]),
  unpack: (stored: unknown) =>
    (stored as [number, string, number][]).map(([propId, type, modifier]) => ({ propId, type, modifier })),
} as const

const firmwares = {
  name: 'firmwares',
  pack: (value: unknown) =>
    (value as readonly Firmware[]).map(({ firmware, hardware, index }) => [firmware, hardware ?? null, index]),
  unpack: (stored: unknown) =>
    (stored as [string, string | null, number][]).map(([firmware, hardware, index]) =>
      hardware === null ? { firmware, index } : { firmware, hardware, index },
    ),
} as const

const desiredItems = {
  name: 'items',
  pack: (value: unknown) => packDesired(value as readonly DesiredItem[]),
  unpack: (stored: unknown) => unpackDesired(stored as PackedDesired),
} as const

const statuses = ['online', 'idle', 'offline']
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

/** The code of the kind `reported` in the stored form. */
export const reportedCode = 1

/**
 * The second element is the name of the device, service, alarm or user, so a search for a name reads no further. For
 * reports see `EntryWriter.reported`.
 */
const forms: { readonly [Kind in Exclude<EntryKind, 'reported'>]: EntryForm<EntryOf<Kind>> } = {
  declared: fieldsOf('declared', 2, 'device', 'flakeAddress', shape, 'at', 'items', removed),
  undeclared: fieldsOf('undeclared', 3, 'device', 'flakeAddress', 'service', 'at', removed),
  device_added: fieldsOf('device_added', 4, 'device', 'flakeAddress', 'at'),
  device_removed: fieldsOf('device_removed', 5, 'device', 'flakeAddress', 'at'),
  status_changed: fieldsOf(
    'status_changed',
    6,
    'device',
    'at',
    oneOf('status', statuses, 'offline'),
    'lastMessage',
    'lastConnect',
    'numConnects',
  ),
  discovered: fieldsOf('discovered', 7, 'device', 'flakeAddress', 'at', 'project', firmwares, 'isAutoUpdated'),
  meta_set: fieldsOf('meta_set', 8, 'device', 'at', 'meta'),
  meta_deleted: fieldsOf('meta_deleted', 9, 'device', 'at', 'key'),
  schema_set: fieldsOf('schema_set', 10, 'service', 'at', 'isNew', 'schema'),
  schema_deleted: fieldsOf('schema_deleted', 11, 'service', 'at'),
  alarm_set: fieldsOf('alarm_set', 12, 'alarm', 'at', 'stored'),
  alarm_deleted: fieldsOf('alarm_deleted', 13, 'alarm', 'at', 'devices', 'groups'),
  alarm_changed: fieldsOf(
    'alarm_changed',
    14,
    'device',
    'alarm',
    'at',
    'isActive',
    'since',
    omittable('isEnded'),
    'value',
  ),
  update_changed: fieldsOf(
    'update_changed',
    15,
    'device',
    'at',
    'index',
    oneOf('status', updateStates, 'idle'),
    optional('firmware'),
    optional('progress'),
    optional('message'),
  ),
  subscribed: fieldsOf('subscribed', 16, 'user', 'at', 'stored'),
  subscription_updated: fieldsOf('subscription_updated', 17, 'user', 'at', 'stored'),
  unsubscribed: fieldsOf('unsubscribed', 18, 'user', 'at', 'subscription'),
  alarm_acknowledged: fieldsOf('alarm_acknowledged', 19, 'device', 'alarm', 'at', 'since', 'by', 'comment'),
  desired_set: fieldsOf('desired_set', 20, 'device', 'service', 'at', desiredItems),
}

const byCode = new Map(Object.values(forms).map((form) => [form.code, form as unknown as EntryForm<Entry>]))

/** Appends the entry to the writer. */
export function packEntry(entry: Entry, shapes: ShapePlaces, writer: EntryWriter): void {
  if (entry.kind === 'reported') writer.reported(shapes.placeOf(entry.shape), entry)
  else writer.append(pack((forms[entry.kind] as EntryForm<Entry>).pack(entry, shapes)))
}

/** Reads the next entry. @throws Error for a kind that this release does not know; errors of `shapes` */
export function readEntry(reader: EntryReader, shapes: ShapePlaces): Entry {
  const report = reader.readReported(shapes.shapeAt)
  if (report) return report
  const packed = reader.any() as Packed
  const form = byCode.get(packed[0])
  if (!form) throw new Error(`entries of kind ${packed[0]} were written by a newer release`)
  return form.unpack(packed, shapes)
}

/** Skips the next entry. Returns the hash of the name after its kind. */
export function skipEntry(reader: EntryReader): number {
  const length = reader.array()
  reader.pass(1)
  const hash = reader.passForHash()
  reader.pass(length - 2)
  return hash
}

/**
 * Writes consecutive entries. Reports, of which there are millions, are written without the general encoder: it takes
 * five times as long, and needs an array for each. The bytes are the same (a property test compares the two).
 */
export class EntryWriter extends MsgpackWriter {
  /**
   * `timestamp` is null when it equals `at`, as it usually does. `session` is stored only when a session begins, `alarms`
   * only when an alarm begins or stops waiting, `throttles` only when a throttle passes an event. A missing field before a
   * stored one is null.
   */
  reported(
    place: number,
    { device, flakeAddress, at, timestamp, seq, items, session, alarms, throttles }: Reported,
  ): void {
    const length = throttles !== undefined ? 11 : alarms !== undefined ? 10 : session !== undefined ? 9 : 8
    this.array(length)
    this.number(reportedCode)
    this.text(device)
    this.number(flakeAddress)
    this.number(place)
    this.number(at)
    if (timestamp === at) this.null()
    else this.number(timestamp)
    this.number(seq)
    this.array(items.length)
    for (let index = 0; index < items.length; index++) {
      const item = items[index]
      if (typeof item === 'number') this.number(item)
      else if (typeof item === 'string') this.text(item)
      else this.any(item)
    }
    if (length > 8) this.any(session ?? null)
    if (length > 9) this.any(alarms ?? null)
    if (length > 10) this.any(throttles)
  }
}

/** A device in memory. `lastOffset`: the offset of the last entry that was applied to it. */
export interface KnownDevice {
  readonly id: string
  readonly lastOffset: number
}

export interface ReportSearch<Known extends KnownDevice> {
  /** A device whose name has this hash. In rare cases it is not the device of the report. */
  find(nameHash: number): Known | undefined
  shapeAt(place: number): Shape
}

export interface KnownReport<Known extends KnownDevice> {
  readonly known: Known
  /** Undefined if the report was already applied to the device. */
  readonly entry: Reported | undefined
}

/**
 * Reads consecutive entries. A starting server reads hundreds of thousands of reports, so reports are read without the
 * general decoder, which first makes a list of each.
 */
export class EntryReader extends MsgpackReader {
  /** Reads a report. Returns undefined, and reads nothing, for any other entry. */
  readReported(shapeAt: (place: number) => Shape): Reported | undefined {
    const before = this.place
    const length = this.#reportHead()
    if (length === 0) this.back(before)
    return length === 0 ? undefined : this.#afterName(length, this.text(), shapeAt)
  }

  /**
   * Like `readReported`, for a report of a device that `search` finds. The report is skipped, and no object is made, if
   * it was already applied to the device.
   */
  readKnownReport<Known extends KnownDevice>(
    offset: number,
    search: ReportSearch<Known>,
  ): KnownReport<Known> | undefined {
    const before = this.place
    const length = this.#reportHead()
    const atName = this.place
    const known = length === 0 ? undefined : search.find(this.passForHash())
    this.back(atName)
    if (!known || !this.passText(known.id)) {
      this.back(before)
      return undefined
    }
    if (offset > known.lastOffset) return { known, entry: this.#afterName(length, known.id, search.shapeAt) }
    this.pass(length - 2)
    return { known, entry: undefined }
  }

  /** The number of elements of a report; 0 for another entry. */
  #reportHead(): number {
    const length = this.array()
    return this.number() === reportedCode ? length : 0
  }

  #afterName(length: number, device: string, shapeAt: (place: number) => Shape): Reported {
    const flakeAddress = this.number()
    const shape = shapeAt(this.number())
    const at = this.number()
    const timestamp = this.passNull() ? at : this.number()
    const seq = this.number()
    const items = this.#items()
    const kind = 'reported'
    if (length === 8) return { kind, device, flakeAddress, shape, at, timestamp, seq, items }
    if (length === 9) return { kind, device, flakeAddress, shape, at, timestamp, seq, items, session: this.text() }
    const [session, alarms] = [this.any() as string | null, this.any() as AlarmWaits | null]
    const throttles = length > 10 ? (this.any() as Stamps) : undefined
    // A newer release may have appended fields.
    this.pass(Math.max(0, length - 11))
    const rest = {
      ...(session !== null && { session }),
      ...(alarms !== null && { alarms }),
      ...(throttles && { throttles }),
    }
    return { kind, device, flakeAddress, shape, at, timestamp, seq, items, ...rest }
  }

  #items(): PropertyState[] {
    const length = this.array()
    const items = new Array<PropertyState>(length)
    for (let index = 0; index < length; index++) items[index] = this.any() as PropertyState
    return items
  }
}
