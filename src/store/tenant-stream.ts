import { Slabs } from '#store/slabs'

/** A chunk in memory, as stored. */
export interface RecentChunk {
  readonly firstOffset: number
  readonly count: number
  readonly bytes: Uint8Array
}

/** Recent chunks kept in memory, per tenant: what a dashboard missed during a short stall is read from here. */
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
  /** As stored: from where entries are applied again at a start. */
  redoFrom = 1
  /** Bytes of all chunks ever stored, and of those deleted since. */
  bytesEnd = 0
  bytesStart = 0
  /** First offsets of the chunks from `redoFrom` on. */
  #redoChunks: number[] = []
  #recent: RecentChunk[] = []
  #recentBytes = 0
  readonly #slabs = new Slabs()

  constructor(tenant: string) {
    this.tenant = tenant
  }

  get bytes(): number {
    return this.bytesEnd - this.bytesStart
  }

  /** A chunk was stored behind the last one. */
  append(chunk: RecentChunk): void {
    this.last = chunk.firstOffset + chunk.count - 1
    this.bytesEnd += chunk.bytes.length
    this.#redoChunks.push(chunk.firstOffset)
    this.#recent.push({ ...chunk, bytes: this.#slabs.keep(chunk.bytes) })
    this.#recentBytes += chunk.bytes.length
    if (this.#recentBytes > recentBytesMax) this.#shrinkRecent()
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

  recent(offset: number): RecentChunk | undefined {
    let low = 0
    let high = this.#recent.length - 1
    while (low <= high) {
      const middle = (low + high) >> 1
      const chunk = this.#recent[middle] as RecentChunk
      if (offset < chunk.firstOffset) high = middle - 1
      else if (offset >= chunk.firstOffset + chunk.count) low = middle + 1
      else return chunk
    }
    return undefined
  }

  #shrinkRecent(): void {
    // A quarter at a time, for the same reason.
    let keep = 0
    while (this.#recentBytes > recentBytesMax * 0.75)
      this.#recentBytes -= (this.#recent[keep++] as RecentChunk).bytes.length
    this.#recent = this.#recent.slice(keep)
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
