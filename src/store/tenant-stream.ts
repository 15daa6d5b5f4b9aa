import { partitionPoint } from '#model/partition-point'

/**
 * The limit of recent chunks in memory for each tenant: a client that missed events during a short interruption reads
 * them from here.
 */
export const recentBytesMax = 64 * 1024 * 1024

/**
 * Facts about the stored stream of one tenant, known without reading it: its first and last offset, its size, the first
 * offsets of the chunks that a restarted server applies again, and the latest chunks themselves.
 *
 * The ring holds chunks as they are stored instead of events as they are sent. Chunks take a fifth of the size and lie
 * outside the heap, and a client that catches up needs the entries anyway, for filters and permissions.
 */
export class TenantStream {
  readonly tenant: string
  /** The last stored offset, 0 before the first. */
  last = 0
  /** The first offset that can be read; `last + 1` when there is none. */
  retainedFrom = 1
  /** The first offset of the first stored chunk: after a repair it may lie before the first readable entry. */
  storedFrom = 1
  /** Entries before this offset belong to a deleted tenant of the same name. */
  beginsAt = 1
  /** After a repair, entries before this offset may be missing. */
  wholeFrom = 1
  /** The stored redo position: entries from this offset on are applied again after a restart. */
  redoFrom = 1
  /** Bytes of all chunks ever stored, and of those deleted since. */
  bytesEnd = 0
  bytesStart = 0
  /** First offsets of the chunks from `redoFrom` on, and of some earlier ones. */
  #redoChunks: number[] = []
  readonly #recent: ChunkRing

  /** `bytesMax` limits the recent chunks in memory. */
  constructor(tenant: string, bytesMax = recentBytesMax) {
    this.tenant = tenant
    this.#recent = new ChunkRing(bytesMax)
  }

  get bytes(): number {
    return this.bytesEnd - this.bytesStart
  }

  /** Reserves memory for the next chunk of the stream. */
  reserve(firstOffset: number, length: number): Buffer {
    return this.#recent.reserve(firstOffset, length)
  }

  /** Adds a chunk that was stored; its bytes are in the memory reserved for it. */
  append(chunk: RecentChunk): void {
    this.last = chunk.firstOffset + chunk.count - 1
    this.bytesEnd += chunk.bytes.length
    this.#redoChunks.push(chunk.firstOffset)
    this.#recent.add(chunk)
  }

  /** Forgets all entries before this offset, which becomes the offset of the next entry. */
  forgetBefore(offset: number): void {
    this.last = offset - 1
    this.retainedFrom = offset
    this.storedFrom = offset
    this.bytesStart = this.bytesEnd
    this.#redoChunks = []
    this.#recent.forgetBefore(offset)
  }

  /** Adds the first offset of a chunk that is already stored. */
  loadRedoChunk(firstOffset: number): void {
    this.#redoChunks.push(firstOffset)
  }

  setRedoFrom(offset: number): void {
    this.redoFrom = offset
    if (this.#redoChunks.length === 0) return
    const keep = lastIndexUpTo(this.#redoChunks, offset)
    // Trimmed in large steps, because each trim copies the list.
    if (keep > 1024 || keep === this.#redoChunks.length - 1)
      this.#redoChunks = this.#redoChunks.slice(Math.max(keep, 0))
  }

  /** First offsets of the chunks that hold the entries from this offset on, which must not be before `redoFrom`. */
  chunksFrom(offset: number): readonly number[] {
    return this.#redoChunks.slice(Math.max(lastIndexUpTo(this.#redoChunks, offset), 0))
  }

  /** The chunk that holds this offset, if it is in memory. Its bytes are valid until the caller's next `await`. */
  recent(offset: number): RecentChunk | undefined {
    return this.#recent.find(offset)
  }
}

/** The index of the last number not above `offset`; -1 if there is none. */
function lastIndexUpTo(numbers: readonly number[], offset: number): number {
  return partitionPoint(numbers.length, (index) => (numbers[index] as number) <= offset) - 1
}

/** A chunk in memory, as stored. Its bytes are valid until the reader's next `await`: later chunks overwrite them. */
export interface RecentChunk {
  readonly firstOffset: number
  readonly count: number
  readonly bytes: Uint8Array
}

interface Slab {
  readonly bytes: Buffer
  used: number
  /** First offset of the last chunk in it. */
  last: number
}

/**
 * The size of the first slab: there may be thousands of streams with few events. Each slab is twice as large as the one
 * before, up to `slabBytesMax`.
 */
const slabBytesMin = 16 * 1024
/** Large enough that the allocator treats a slab as one piece, independent of the size of its chunks. */
const slabBytesMax = 1024 * 1024

/**
 * The latest chunks of one stream, in slabs that are reused: when there are enough slabs, the next chunk overwrites the
 * oldest ones. So a lasting high load allocates no memory outside the heap. V8 reacts to such allocations with full
 * garbage collections, however large the heap is (measured: half of all CPU time with 10⁶ devices). Until there are
 * enough slabs, V8 still collects once for about every 8 MB of new ones. Shared memory, which V8 does not count, can't be
 * used: from shared memory, the native part of msgpackr reads an invalid address.
 */
export class ChunkRing {
  readonly #bytesMax: number
  /** The oldest first. */
  readonly #slabs: Slab[] = []
  #slabBytes = 0
  #chunks: RecentChunk[] = []
  /** Chunks before this index were overwritten. */
  #first = 0
  /** First offset of the last chunk that was added. */
  #added = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** The size of all slabs, which lie outside the heap. */
  get bytes(): number {
    return this.#slabBytes
  }

  /**
   * Reserves memory for the next chunk, which must be written synchronously. The chunk becomes visible with `add`, and
   * is dropped without it. Memory reserved since the last added chunk is not overwritten by later reservations.
   */
  reserve(firstOffset: number, length: number): Buffer {
    const slab = this.#slabFor(length)
    const reserved = slab.bytes.subarray(slab.used, slab.used + length)
    slab.used += length
    slab.last = firstOffset
    return reserved
  }

  /** Adds a chunk that was written into reserved memory, and stored. */
  add(chunk: RecentChunk): void {
    this.#chunks.push(chunk)
    this.#added = chunk.firstOffset
  }

  /** The chunk that holds this offset. */
  find(offset: number): RecentChunk | undefined {
    let low = this.#first
    let high = this.#chunks.length - 1
    while (low <= high) {
      const middle = (low + high) >> 1
      const chunk = this.#chunks[middle] as RecentChunk
      if (offset < chunk.firstOffset) high = middle - 1
      else if (offset >= chunk.firstOffset + chunk.count) low = middle + 1
      else return chunk
    }
    return undefined
  }

  /** Forgets chunks before this offset and frees their memory. */
  forgetBefore(firstOffset: number): void {
    for (let oldest = this.#slabs[0]; oldest && oldest.last < firstOffset; oldest = this.#slabs[0]) {
      this.#slabs.shift()
      this.#slabBytes -= oldest.bytes.length
    }
    this.#forgetUpTo(firstOffset - 1)
  }

  #slabFor(length: number): Slab {
    const newest = this.#slabs.at(-1)
    if (newest && newest.used + length <= newest.bytes.length) return newest
    const wanted = Math.max(slabBytesMin, (newest?.bytes.length ?? 0) * 2)
    const size = Math.max(Math.min(wanted, slabBytesMax), length)
    const reusable = this.#dropUntilFits(size)
    const slab = { bytes: reusable ?? Buffer.allocUnsafeSlow(size), used: 0, last: 0 }
    this.#slabs.push(slab)
    this.#slabBytes += slab.bytes.length
    return slab
  }

  /** Makes space for one more slab. If a dropped slab has the same size, it is returned for reuse. */
  #dropUntilFits(size: number): Buffer | undefined {
    let reusable: Buffer | undefined
    for (let oldest = this.#slabs[0]; oldest; oldest = this.#slabs[0]) {
      if (this.#slabBytes + size <= this.#bytesMax || oldest.last > this.#added) break
      this.#slabs.shift()
      this.#slabBytes -= oldest.bytes.length
      this.#forgetUpTo(oldest.last)
      if (oldest.bytes.length === size) reusable = oldest.bytes
    }
    return reusable
  }

  #forgetUpTo(firstOffset: number): void {
    while ((this.#chunks[this.#first]?.firstOffset ?? Number.POSITIVE_INFINITY) <= firstOffset) this.#first++
    // Trimmed in large steps, because each trim copies the list.
    if (this.#first <= this.#chunks.length / 4) return
    this.#chunks = this.#chunks.slice(this.#first)
    this.#first = 0
  }
}
