import { createHash } from 'node:crypto'
import { Problem } from '#model/problem'
import {
  type BlobImage,
  type BlobPart,
  type BlobReceived,
  type BlobStore,
  type OwnBlob,
  pieceBytesMax,
} from '#runtime/blobs'
import {
  checkBegin,
  checkGrowth,
  checkOffset,
  freshMsMax,
  isRefusedForGood,
  isUnresumable,
  isWhole,
  partAgeMsMax,
} from '#store/blobs'

export interface MemoryBlobsOptions {
  readonly bytesMax: number
  /** Default: time stands still. */
  now?(): number
}

/**
 * A blob store in memory. `open` is the next start of a process: uploads of the earlier process write nothing more, and
 * their bytes are kept.
 */
export function memoryBlobs(options: MemoryBlobsOptions): BlobStore {
  return new MemoryBlobs(options)
}

interface Part {
  readonly pieces: Uint8Array[]
  received: number
  changedAt: number
}

class MemoryBlobs implements BlobStore {
  readonly #options: MemoryBlobsOptions
  readonly #images = new Map<string, Uint8Array>()
  readonly #parts = new Map<string, Part>()
  readonly #fresh = new Map<string, number>()
  #underWay = new Set<string>()

  constructor(options: MemoryBlobsOptions) {
    this.#options = options
  }

  async open(): Promise<void> {
    this.#underWay = new Set()
    this.#fresh.clear()
  }

  async receive(
    name: string,
    part: BlobPart,
    pieces: AsyncIterable<Uint8Array>,
    own: OwnBlob = async () => {},
  ): Promise<BlobReceived> {
    const underWay = this.#underWay
    checkBegin(name, part, underWay, this.#options.bytesMax)
    checkOffset(part.from, await this.receivedOf(name))
    checkBegin(name, part, underWay, this.#options.bytesMax)
    underWay.add(name)
    try {
      const stored = this.#partOf(name, part)
      for await (const piece of pieces) {
        checkGrowth(stored.received + piece.byteLength, part, this.#options.bytesMax)
        if (underWay !== this.#underWay) throw new Problem('storage')
        this.#append(stored, piece)
      }
      if (underWay !== this.#underWay) throw new Problem('storage')
      if (!isWhole(stored.received, part)) return { received: stored.received }
      const image = this.#finish(stored)
      try {
        await own(image)
      } catch (error) {
        if (isRefusedForGood(error, part) && underWay === this.#underWay) this.#parts.delete(name)
        throw error
      }
      if (underWay === this.#underWay) this.#parts.delete(name)
      return { received: stored.received, image }
    } catch (error) {
      if (isUnresumable(part) && underWay === this.#underWay) this.#parts.delete(name)
      throw error
    } finally {
      underWay.delete(name)
    }
  }

  async receivedOf(name: string): Promise<number> {
    const part = this.#parts.get(name)
    return part && !this.#isOld(part) ? part.received : 0
  }

  async discard(name: string): Promise<void> {
    if (!this.#underWay.has(name)) this.#parts.delete(name)
  }

  async *read(sha256: string, from: number, to: number): AsyncIterable<Uint8Array> {
    const image = this.#images.get(sha256)
    if (!image) throw new Problem('not_found')
    if (to > image.length) throw new Error(`the image ${sha256} ends before ${to}`)
    for (let at = from; at < to; at += pieceBytesMax) yield image.slice(at, Math.min(to, at + pieceBytesMax))
  }

  async sizeOf(sha256: string): Promise<number | undefined> {
    return this.#images.get(sha256)?.length
  }

  async names(): Promise<readonly string[]> {
    return [...this.#images.keys()].sort()
  }

  async remove(sha256: string): Promise<void> {
    this.#fresh.delete(sha256)
    this.#images.delete(sha256)
  }

  async sweep(isNamed: (sha256: string) => boolean, owned: (bytes: number) => Iterable<string>): Promise<void> {
    const freshFrom = this.#now() - freshMsMax
    for (const [sha256, at] of this.#fresh) if (at < freshFrom) this.#fresh.delete(sha256)
    for (const sha256 of this.#images.keys()) {
      if (!isNamed(sha256) && !this.#fresh.has(sha256)) this.#images.delete(sha256)
    }
    for (const [name, part] of this.#parts) {
      const isOwned = [...owned(part.received)].includes(name)
      if ((this.#isOld(part) || isOwned) && !this.#underWay.has(name)) this.#parts.delete(name)
    }
  }

  #partOf(name: string, { from }: BlobPart): Part {
    const found = from === 0 ? undefined : this.#parts.get(name)
    if (found) return found
    const part = { pieces: [], received: 0, changedAt: this.#now() }
    this.#parts.set(name, part)
    return part
  }

  #append(part: Part, piece: Uint8Array): void {
    part.pieces.push(piece.slice())
    part.received += piece.byteLength
    part.changedAt = this.#now()
  }

  #finish(part: Part): BlobImage {
    const { pieces, received } = part
    const bytes = new Uint8Array(Buffer.concat(pieces))
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    this.#images.set(sha256, bytes)
    this.#fresh.set(sha256, this.#now())
    return { sha256, size: received }
  }

  #isOld(part: Part): boolean {
    return this.#now() - part.changedAt > partAgeMsMax
  }

  #now(): number {
    return this.#options.now?.() ?? 0
  }
}
