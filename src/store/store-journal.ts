import type { Entry } from '#model/entry'
import type { ActorAddress, RecordFormat, SharedRecord } from '#runtime/actor'
import type { Chunk, Journal, SealedCommit, StreamEvent, StreamPart, StreamReader } from '#runtime/journal'
import type { StreamChunk } from '#runtime/projection'
import type { Operation, Row, Storage } from '#runtime/storage'
import type { ValueReader, ValueWriter } from '#runtime/value-codec'
import { ChunkPacker, chunkBytesMax, headOf, unpackChunk } from '#store/chunk'
import { Epochs } from '#store/epochs'
import { keySpace, keys, keysBelow, numberOf } from '#store/key-space'
import { MsgpackReader } from '#store/msgpack-reader'
import { firstRowOf, pagesOf } from '#store/pages'
import { MsgpackWriter, packRecord, unpackRecord } from '#store/record-codec'
import { Shapes, shapeFormat } from '#store/shapes'
import { type RecentChunk, recentBytesMax, TenantStream } from '#store/tenant-stream'

export const redoFormat = { name: 'redo', version: 1, upgrades: {} }
export const beginFormat = { name: 'begin', version: 1, upgrades: {} }
export const wholeFormat = { name: 'whole', version: 1, upgrades: {} }

/** The number of unpacked chunks in memory: clients that were disconnected at the same time read the same chunks. */
const unpackedMax = 16
const unpackedBytesMax = 8 * chunkBytesMax

/**
 * Commits and streams on a storage handle. It caches facts about the stored streams; `open` gives it a handle and
 * clears the cache, and the loader fills it again.
 */
export class StoreJournal implements Journal<Entry>, StreamReader<Entry> {
  readonly #isSynced: boolean
  readonly #recentBytesMax: number
  readonly #streams = new Map<string, TenantStream>()
  readonly #unpacked = new Map<string, Chunk<Entry>>()
  readonly shapes = new Shapes((key) => this.storage.get(key))
  /** Keys of chunks to be deleted with the next commit. */
  #trims: {
    readonly stream: TenantStream
    readonly keys: readonly string[]
    readonly retainedFrom: number
    readonly bytesStart: number
  }[] = []
  /** Tenants whose streams are forgotten with their next commit. */
  readonly #drops = new Set<string>()
  #storage: Storage | undefined
  epochs = new Epochs()
  /**
   * Buffers for records that are written piece by piece: one for the open commit, and one for the commit that is being
   * stored. The latter may also have records of the next commit, if they were written between the sealing of a commit
   * and its writing. It must stay until that commit is stored too, which takes a third buffer.
   */
  #recordWriters = [recordWriter(), recordWriter(), recordWriter()] as const
  readonly #packers: ChunkPacker[] = []
  /** Records are read one at a time. */
  readonly #recordReader = new MsgpackReader()
  /** The size of the last commit, for metrics. */
  readonly last = { operations: 0 }
  readonly pack = packRecord
  readonly unpack = unpackRecord
  readonly indexKey = keys.index
  readonly reminderKey = keys.reminder
  readonly tellKey = keys.tell

  /**
   * `isSynced`: a stored commit survives a power failure. `retainedBytesMax` is the limit of each stream; data beyond
   * this limit need not be in memory.
   */
  constructor(options: { readonly isSynced: boolean; readonly retainedBytesMax?: number }) {
    this.#isSynced = options.isSynced
    this.#recentBytesMax = Math.min(recentBytesMax, options.retainedBytesMax ?? recentBytesMax)
  }

  get storage(): Storage {
    if (!this.#storage) throw new Error('the store is not open')
    return this.#storage
  }

  open(storage: Storage): void {
    this.#storage = storage
    this.#streams.clear()
    this.#unpacked.clear()
    this.#trims = []
    this.#drops.clear()
    this.#recordWriters = [recordWriter(), recordWriter(), recordWriter()]
  }

  loadEpochs(): Promise<Epochs> {
    return Epochs.load(this.storage)
  }

  stream(tenant: string): TenantStream {
    let stream = this.#streams.get(tenant)
    if (!stream) {
      stream = new TenantStream(tenant, this.#recentBytesMax)
      this.#streams.set(tenant, stream)
    }
    return stream
  }

  streams(): Iterable<TenantStream> {
    return this.#streams.values()
  }

  beginRecord(format: RecordFormat): ValueWriter {
    const [writer] = this.#recordWriters
    writer.begin()
    writer.array(2)
    writer.number(format.version)
    return writer
  }

  endRecord(): Uint8Array {
    return this.#recordWriters[0].written
  }

  readRecord<Value>(
    format: RecordFormat,
    bytes: Uint8Array,
    read: (reader: ValueReader) => Value | undefined,
  ): Value | undefined {
    return this.#recordReader.whole(bytes, (reader) =>
      reader.array() === 2 && reader.number() === format.version ? read(reader) : undefined,
    )
  }

  recordKey(address: ActorAddress, name: string): string {
    return name === '' ? keys.snapshot(address) : keys.part(address, name)
  }

  shared({ id, value }: SharedRecord): { readonly key: string; readonly value: Uint8Array } {
    this.shapes.named?.add(id)
    return { key: keys.shape(id), value: packRecord(shapeFormat, value) }
  }

  get(recordKey: string): Uint8Array | undefined {
    return this.storage.get(recordKey)
  }

  packer(): ChunkPacker {
    return this.#packers.pop() ?? new ChunkPacker((id) => this.shapes.named?.add(id))
  }

  async write(commit: SealedCommit<Entry>): Promise<readonly number[]> {
    this.#rotateRecordWriters()
    const operations: Operation[] = []
    const drops = commit.streams.filter(({ tenant }) => this.#drops.delete(tenant))
    for (const { tenant, firstOffset } of drops) {
      operations.push({ key: keys.begin(tenant), value: packRecord(beginFormat, firstOffset) })
    }
    const partBytes: number[] = []
    const appended: { stream: TenantStream; chunk: RecentChunk }[] = []
    for (const part of commit.streams) {
      const stream = this.stream(part.tenant)
      let bytes = 0
      const packer = part.packer as ChunkPacker | undefined
      const roomFor = (firstOffset: number, length: number) => stream.reserve(firstOffset, length)
      for (const chunk of packer?.chunks(commit.now, stream.bytesEnd, part.firstOffset, roomFor) ?? []) {
        operations.push({ key: keys.chunk(part.tenant, chunk.firstOffset), value: chunk.bytes })
        appended.push({ stream, chunk })
        bytes += chunk.bytes.length
      }
      if (packer) this.#keepPacker(packer)
      partBytes.push(bytes)
      const redoFrom = redoFromOf(part, stream)
      if (redoFrom !== stream.redoFrom || stream.last === 0) {
        operations.push({ key: keys.redo(part.tenant), value: packRecord(redoFormat, redoFrom) })
      }
    }
    for (const [key, value] of commit.records) operations.push({ key, value })
    const trims = this.#trims
    this.#trims = []
    for (const trim of trims) for (const key of trim.keys) operations.push({ key, value: null })

    await this.storage.write(operations, { sync: this.#isSynced })

    for (const { tenant, firstOffset } of drops) this.beginAt(tenant, firstOffset)
    for (const { stream, chunk } of appended) stream.append(chunk)
    for (const part of commit.streams) {
      const stream = this.stream(part.tenant)
      stream.setRedoFrom(redoFromOf(part, stream))
    }
    for (const { stream, retainedFrom, bytesStart } of trims) {
      // The stream may have been dropped since the trim was planned.
      stream.storedFrom = Math.max(stream.storedFrom, retainedFrom)
      stream.retainedFrom = Math.max(stream.retainedFrom, retainedFrom)
      stream.bytesStart = Math.max(stream.bytesStart, bytesStart)
    }
    this.last.operations = operations.length
    return partBytes
  }

  #keepPacker(packer: ChunkPacker): void {
    packer.clear()
    if (this.#packers.length < idlePackersMax) this.#packers.push(packer)
  }

  /** One write runs at a time, so the records of the third buffer are stored. */
  #rotateRecordWriters(): void {
    const [open, stored, next] = this.#recordWriters
    next.clear()
    this.#recordWriters = [next, open, stored]
  }

  /** Deletes these chunks with the next commit. One trim of a stream at a time. */
  trim(stream: TenantStream, chunkKeys: readonly string[], retainedFrom: number, bytesStart: number): void {
    this.#trims.push({ stream, keys: chunkKeys, retainedFrom, bytesStart })
  }

  /**
   * Forgets all stored entries of the tenant with the next commit that touches its stream: a restarted server applies
   * none of them again. The tenant's redo queue must be empty; its chunks may be deleted after that commit. Returns
   * false if the stream is empty.
   */
  dropStream(tenant: string): boolean {
    const { retainedFrom, last } = this.stream(tenant)
    if (retainedFrom > last) return false
    this.#drops.add(tenant)
    return true
  }

  /** Forgets the entries of a deleted tenant. The first entry of the next tenant of this name has this offset. */
  beginAt(tenant: string, offset: number): void {
    const stream = this.stream(tenant)
    stream.beginsAt = offset
    stream.forgetBefore(offset)
    const { after } = keysBelow(`stream/${tenant}`)
    for (const key of this.#unpacked.keys()) if (key.startsWith(after)) this.#unpacked.delete(key)
  }

  get isTrimming(): boolean {
    return this.#trims.length > 0
  }

  *eventsSince(tenant: string, offset: number): Iterable<StreamEvent<Entry>> {
    for (const firstOffset of this.stream(tenant).chunksFrom(offset)) {
      const bytes = this.storage.get(keys.chunk(tenant, firstOffset))
      if (!bytes) continue
      const { events } = unpackChunk(firstOffset, bytes, this.shapes)
      for (let index = 0; index < events.length; index++) {
        if (firstOffset + index >= offset) yield { offset: firstOffset + index, event: events[index] as Entry }
      }
    }
  }

  get epoch(): string {
    return this.epochs.current
  }

  retainedFrom(tenant: string): number {
    return this.stream(tenant).retainedFrom
  }

  lastOffsetUnder(tenant: string, epoch: string): number | undefined {
    return this.epochs.lastUnder(epoch, tenant, this.stream(tenant).last)
  }

  recent(tenant: string, offset: number): Chunk<Entry> | undefined {
    const chunk = this.stream(tenant).recent(offset)
    return chunk && this.#unpack(tenant, chunk.firstOffset, chunk.bytes)
  }

  async load(tenant: string, offset: number): Promise<Chunk<Entry> | undefined> {
    const { storage } = this
    const row = await lastChunkUpTo(storage, tenant, offset)
    if (!row) return undefined
    const firstOffset = numberOf(row.key)
    // The chunk came from a handle that was closed during the read. The next handle may lack it, so it is not cached.
    const isOld = storage !== this.#storage
    const chunk = isOld
      ? unpackChunk(firstOffset, row.value, this.shapes)
      : this.#unpack(tenant, firstOffset, row.value)
    return offset < firstOffset + chunk.events.length ? chunk : undefined
  }

  /** The stored chunks from the one that holds this offset on, up to about `bytesMax`. */
  async storedChunks(tenant: string, offset: number, bytesMax: number): Promise<StreamChunk[]> {
    const { storage } = this
    const first = await lastChunkUpTo(storage, tenant, offset)
    if (!first || numberOf(first.key) + headOf(first.value).count <= offset) return []
    const after = keys.chunk(tenant, numberOf(first.key) - 1)
    const chunks: StreamChunk[] = []
    let bytes = 0
    for await (const page of pagesOf(storage, { ...keysBelow(`stream/${tenant}`), after, hasValues: true })) {
      for (const { key, value } of page) {
        const { count, time } = headOf(value)
        chunks.push({ tenant, firstOffset: numberOf(key), count, time, bytes: value })
        bytes += value.length
        if (bytes >= bytesMax) return chunks
      }
    }
    return chunks
  }

  /** Resolves when everything that this node has stored so far survives a power failure. */
  async sync(): Promise<void> {
    const { shared } = this.storage
    if (this.#isSynced && !shared) return
    // Rewrites a row that never changes, because a synced write makes LevelDB sync its log up to this point.
    await (shared?.local ?? this.storage).write([{ key: keys.format, value: packRecord(keySpace, null) }], {
      sync: true,
    })
  }

  #unpack(tenant: string, firstOffset: number, bytes: Uint8Array): Chunk<Entry> {
    const key = keys.chunk(tenant, firstOffset)
    const before = this.#unpacked.get(key)
    if (before) return before
    const chunk = unpackChunk(firstOffset, bytes, this.shapes)
    // A chunk of an earlier release: sixteen of this size would take too much memory.
    if (bytes.length > unpackedBytesMax) return chunk
    const [oldest = ''] = this.#unpacked.keys()
    if (this.#unpacked.size >= unpackedMax) this.#unpacked.delete(oldest)
    this.#unpacked.set(key, chunk)
    return chunk
  }
}

/** The last stored chunk that begins at or before this offset. */
function lastChunkUpTo(storage: Storage, tenant: string, offset: number): Promise<Row | undefined> {
  const range = { after: keys.chunk(tenant, 0), before: keys.chunk(tenant, offset + 1) }
  return firstRowOf(storage, { ...range, isReverse: true, hasValues: true })
}

/**
 * The redo position to store. It never moves back: a node that followed may queue an actor longer than the node that
 * stored its snapshot.
 */
function redoFromOf({ redoFrom }: StreamPart<Entry>, stream: TenantStream): number {
  return Math.max(redoFrom, stream.redoFrom)
}

/** The number of packers that are kept. Most commits append to fewer streams. */
const idlePackersMax = 16

/** A larger buffer of records is not kept. The limit is enough for some thousands of snapshots. */
const recordBytesKeptMax = 4 * 1024 * 1024

function recordWriter(): MsgpackWriter {
  return new MsgpackWriter(recordBytesKeptMax)
}
