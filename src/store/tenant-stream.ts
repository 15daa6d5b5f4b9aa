import { ChunkRing, type RecentChunk } from '#store/chunk-ring'

/** Recent chunks kept in memory at most, per tenant: what a dashboard missed during a short stall is read from here. */
export const recentBytesMax = 64 * 1024 * 1024

/**
 * What is known of one tenant's stored stream without reading it: its ends, its size, where its redo window's chunks
 * begin, and the latest chunks themselves.
 *
 * The ring holds stored chunks and not encoded events: they are a fifth of the size, lie outside the heap, and catching
 * up needs the entries anyway, to filter and to strip them.
 */
export class TenantStream {
  readonly tenant: string
  /** The last stored offset, 0 before the first. */
  last = 0
  /** The first offset that can be read; `last + 1` when there is none. */
  retainedFrom = 1
  /** The first offset of the first chunk there is: behind a repair it may lie before what can be read. */
  storedFrom = 1
  /** After a repair entries before this offset may be missing. */
  wholeFrom = 1
  /** As stored: from where entries are applied again at a start. */
  redoFrom = 1
  /** Bytes of all chunks ever stored, and of those deleted since. */
  bytesEnd = 0
  bytesStart = 0
  /** First offsets of the chunks from `redoFrom` on. */
  #redoChunks: number[] = []
  readonly #recent: ChunkRing

  /** `bytesMax`: of recent chunks in memory. */
  constructor(tenant: string, bytesMax = recentBytesMax) {
    this.tenant = tenant
    this.#recent = new ChunkRing(bytesMax)
  }

  get bytes(): number {
    return this.bytesEnd - this.bytesStart
  }

  /** Room for a chunk to be stored behind all others. */
  reserve(firstOffset: number, length: number): Buffer {
    return this.#recent.reserve(firstOffset, length)
  }

  /** A chunk was stored behind the last one; its bytes lie in what was reserved for it. */
  append(chunk: RecentChunk): void {
    this.last = chunk.firstOffset + chunk.count - 1
    this.bytesEnd += chunk.bytes.length
    this.#redoChunks.push(chunk.firstOffset)
    this.#recent.add(chunk)
  }

  /** All entries before this offset, which the next one gets, are gone. */
  forgetBefore(offset: number): void {
    this.last = offset - 1
    this.retainedFrom = offset
    this.storedFrom = offset
    this.bytesStart = this.bytesEnd
    this.#redoChunks = []
    this.#recent.forgetBefore(offset)
  }

  /** Learns at the start of a chunk that was stored before. */
  loadRedoChunk(firstOffset: number): void {
    this.#redoChunks.push(firstOffset)
  }

  setRedoFrom(offset: number): void {
    this.redoFrom = offset
    if (this.#redoChunks.length === 0) return
    const keep = placeOf(this.#redoChunks, offset)
    // Cut in steps: it is a copy each time.
    if (keep > 1024 || keep === this.#redoChunks.length - 1)
      this.#redoChunks = this.#redoChunks.slice(Math.max(keep, 0))
  }

  /** First offsets of the chunks that hold the entries from an offset in the redo window on. */
  chunksFrom(offset: number): readonly number[] {
    return this.#redoChunks.slice(Math.max(placeOf(this.#redoChunks, offset), 0))
  }

  /** From memory; to be looked at at once. */
  recent(offset: number): RecentChunk | undefined {
    return this.#recent.find(offset)
  }
}

/** The place of the last number not above `offset`; -1 when there is none. */
function placeOf(numbers: readonly number[], offset: number): number {
  let low = 0
  let high = numbers.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((numbers[middle] as number) <= offset) low = middle + 1
    else high = middle
  }
  return low - 1
}
