import { historyPrefix, keyFileName } from '#store/backup/format'
import { headOf } from '#store/chunk'
import { type Epoch, epochFormat } from '#store/epochs'
import { addressOf, keySpace, numberOf } from '#store/key-space'
import { unpackRecord } from '#store/record-codec'
import { redoFormat } from '#store/store-journal'

/** The content of a data folder or backup. Sizes are bytes of keys and values, or of files; times are Unix ms. */
export interface InspectionResult {
  /** The version of the key space; null if the folder has none yet. */
  readonly keySpace: number | null
  readonly rows: number
  readonly rowBytes: number
  readonly epochs: readonly Epoch[]
  readonly shapes: Size
  /** Messages between actors that were not delivered yet. */
  readonly tells: number
  readonly tenants: readonly TenantInspection[]
  readonly images: Size
  /** The files of the database of the history; none if there is no history. */
  readonly history: Size
  readonly hasIdentityKey: boolean
}

interface Size {
  readonly count: number
  readonly bytes: number
}

export interface TenantInspection {
  readonly tenant: string
  /** The number and size of the actors of each kind, `device` among them, that have stored data. */
  readonly actors: Readonly<Record<string, Size>>
  readonly indexEntries: number
  readonly reminders: number
  readonly stream: StreamInspection
}

interface StreamInspection {
  /** The first and the last stored offset; null if no entry is stored. */
  readonly from: number | null
  readonly to: number | null
  /** Entries from this offset on are applied again after a restart; null if there never was a stream. */
  readonly redoFrom: number | null
  readonly since: number | null
  readonly until: number | null
  readonly chunks: number
  readonly bytes: number
}

interface TenantCount {
  readonly actors: Map<string, { count: number; bytes: number; lastId: string }>
  indexEntries: number
  reminders: number
  stream: { -readonly [K in keyof StreamInspection]: StreamInspection[K] }
}

/**
 * Counts rows, which must come in the order of their keys, and files, in any order. Rows with unknown keys count only
 * in `rows` and `rowBytes`.
 */
export class Inspection {
  readonly #tenants = new Map<string, TenantCount>()
  readonly #epochs: Epoch[] = []
  readonly #shapes = { count: 0, bytes: 0 }
  readonly #images = { count: 0, bytes: 0 }
  readonly #history = { count: 0, bytes: 0 }
  #keySpace: number | null = null
  #rows = 0
  #rowBytes = 0
  #tells = 0
  #hasIdentityKey = false

  /** @throws StorageFailure `damaged` if the row can't be read, or if a newer release wrote it */
  row(key: string, value: Uint8Array): void {
    const bytes = Buffer.byteLength(key) + value.byteLength
    this.#rows++
    this.#rowBytes += bytes
    const [place = ''] = key.split('/', 1)
    if (Object.hasOwn(this.#places, place)) this.#places[place]?.(key, value, bytes)
  }

  file(name: string, size: number): void {
    if (name === keyFileName) {
      this.#hasIdentityKey = true
      return
    }
    const total = name.startsWith(historyPrefix) ? this.#history : this.#images
    total.count++
    total.bytes += size
  }

  get found(): InspectionResult {
    return {
      keySpace: this.#keySpace,
      rows: this.#rows,
      rowBytes: this.#rowBytes,
      epochs: this.#epochs,
      shapes: this.#shapes,
      tells: this.#tells,
      tenants: [...this.#tenants]
        .map(([tenant, { actors, ...rest }]) => ({
          tenant,
          actors: Object.fromEntries([...actors].map(([kind, { count, bytes }]) => [kind, { count, bytes }])),
          ...rest,
        }))
        .sort((a, b) => (a.tenant < b.tenant ? -1 : 1)),
      images: this.#images,
      history: this.#history,
      hasIdentityKey: this.#hasIdentityKey,
    }
  }

  /** Counts a row, by the part of its key before the first slash. */
  readonly #places: Readonly<Record<string, (key: string, value: Uint8Array, bytes: number) => void>> = {
    actor: (key, _, bytes) => this.#actor(key, bytes),
    part: (key, _, bytes) => this.#actor(key, bytes),
    index: (key) => this.#tenant(key.split('/', 3)[2] ?? '').indexEntries++,
    reminder: (key) => this.#tenant(addressOf(key).tenant).reminders++,
    tell: () => this.#tells++,
    stream: (key, value, bytes) => this.#chunk(key, value, bytes),
    redo: (key, value) => {
      this.#tenant(key.slice('redo/'.length)).stream.redoFrom = unpackRecord(redoFormat, value) as number
    },
    shape: (_, __, bytes) => {
      this.#shapes.count++
      this.#shapes.bytes += bytes
    },
    epoch: (key, value) => {
      const { name, heads } = unpackRecord(epochFormat, value) as Omit<Epoch, 'number'>
      this.#epochs.push({ number: numberOf(key), name, heads })
    },
    format: (_, value) => {
      unpackRecord(keySpace, value)
      this.#keySpace = keySpace.version
    },
  }

  /** Snapshots (`actor/`) come before other records (`part/`). Within each, the rows of an actor are consecutive. */
  #actor(key: string, bytes: number): void {
    const { kind, tenant, id } = addressOf(key)
    const { actors } = this.#tenant(tenant)
    const size = actors.get(kind) ?? { count: 0, bytes: 0, lastId: '' }
    actors.set(kind, size)
    size.bytes += bytes
    if (size.count > 0 && size.lastId === id) return
    // An actor that has a snapshot was counted with it.
    if (key.startsWith('actor/') || !this.#hasSnapshots.has(kind)) size.count++
    if (key.startsWith('actor/')) this.#hasSnapshots.add(kind)
    size.lastId = id
  }

  readonly #hasSnapshots = new Set<string>()

  #chunk(key: string, value: Uint8Array, bytes: number): void {
    const { stream } = this.#tenant(key.split('/', 2)[1] ?? '')
    const { count, time } = headOf(value)
    const first = numberOf(key)
    stream.from ??= first
    stream.since ??= time
    stream.to = first + count - 1
    stream.until = time
    stream.chunks++
    stream.bytes += bytes
  }

  #tenant(tenant: string): TenantCount {
    const stream = { from: null, to: null, redoFrom: null, since: null, until: null, chunks: 0, bytes: 0 }
    const count = this.#tenants.get(tenant) ?? { actors: new Map(), indexEntries: 0, reminders: 0, stream }
    this.#tenants.set(tenant, count)
    return count
  }
}
