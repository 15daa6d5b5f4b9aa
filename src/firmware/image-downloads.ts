import { Problem } from '#model/problem'
import { type BlobStore, pieceBytesMax } from '#runtime/blobs'
import type { World } from '#runtime/world'

const defaultAtOnceMax = 64
const defaultBytesPerSecondMax = 32 * 1024 * 1024
/** Who waits longer for a place is told to come again. */
const waitMsMax = 30_000
/** Who would wait behind so many is told so at once. */
const waitingMax = 1000
/** Who has so many, or waits for them, is told to come again: one device must not keep the others out. */
const perAskerMax = 8
/** Pieces read at once: the database shares its threads with them. */
const readsMax = 4

export interface ImageDownloadsParts {
  readonly images: Pick<BlobStore, 'read'>
  readonly world: World
  readonly atOnceMax?: number
  readonly bytesPerSecondMax?: number
}

interface Waiting {
  /** It has a place now. */
  go(): void
}

/**
 * Hands out images, so many at once and so fast in all that devices are still heard.
 *
 * Obligations: places are given in the order they were asked for; one is given back when the last byte was taken, when its
 * iterator is returned, when reading fails, or when the signal aborts, whichever comes first; the next piece is read when the
 * one before has been taken.
 */
export class ImageDownloads {
  readonly #images: ImageDownloadsParts['images']
  readonly #world: World
  readonly #atOnceMax: number
  readonly #pace: BytePace
  readonly #reads = new Turns(readsMax)
  readonly #waiting = new Set<Waiting>()
  /** Of each that asked for some: how many it has, or waits for. */
  readonly #byAsker = new Map<string, number>()
  #atOnce = 0

  constructor({ images, world, atOnceMax, bytesPerSecondMax }: ImageDownloadsParts) {
    this.#images = images
    this.#world = world
    this.#atOnceMax = atOnceMax ?? defaultAtOnceMax
    this.#pace = new BytePace(world, bytesPerSecondMax ?? defaultBytesPerSecondMax)
  }

  /** Those under way. */
  get atOnce(): number {
    return this.#atOnce
  }

  /**
   * The bytes from `from` to before `to`, when it is their turn. To be iterated once, or returned. `asker`: whoever they are
   * for.
   * @throws Problem `overloaded` when that takes too long, or he has too many
   */
  async begin(
    sha256: string,
    from: number,
    to: number,
    signal: AbortSignal,
    asker: string,
  ): Promise<AsyncIterable<Uint8Array>> {
    const letGo = this.#count(asker)
    try {
      await this.#place(signal)
    } catch (error) {
      letGo()
      throw error
    }
    return new Download({
      pieces: this.#images.read(sha256, from, to)[Symbol.asyncIterator](),
      byteCount: to - from,
      pace: this.#pace,
      reads: this.#reads,
      signal,
      left: () => {
        letGo()
        this.#leave()
      },
    })
  }

  /** Answers what takes it back; to be called once. */
  #count(asker: string): () => void {
    const before = this.#byAsker.get(asker) ?? 0
    if (before >= perAskerMax) throw new Problem('overloaded')
    this.#byAsker.set(asker, before + 1)
    return () => {
      const left = (this.#byAsker.get(asker) ?? 1) - 1
      if (left > 0) this.#byAsker.set(asker, left)
      else this.#byAsker.delete(asker)
    }
  }

  #place(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.reject(new Problem('overloaded'))
    if (this.#atOnce < this.#atOnceMax) {
      this.#atOnce++
      return Promise.resolve()
    }
    if (this.#waiting.size >= waitingMax) return Promise.reject(new Problem('overloaded'))
    return new Promise((resolve, reject) => {
      const settle = () => {
        this.#waiting.delete(waiting)
        signal.removeEventListener('abort', giveUp)
        cancel()
      }
      const giveUp = () => {
        settle()
        reject(new Problem('overloaded', 'too many download at once'))
      }
      const waiting = {
        go: () => {
          settle()
          resolve()
        },
      }
      const cancel = this.#world.after(waitMsMax, giveUp)
      signal.addEventListener('abort', giveUp)
      this.#waiting.add(waiting)
    })
  }

  /** The place goes to the one that has waited longest. */
  #leave(): void {
    const [next] = this.#waiting
    if (next) next.go()
    else this.#atOnce--
  }
}

interface DownloadParts {
  readonly pieces: AsyncIterator<Uint8Array>
  readonly byteCount: number
  readonly pace: BytePace
  readonly reads: Turns
  readonly signal: AbortSignal
  /** Called once: its place is free. */
  left(): void
}

/** One download. No generator: one that is returned before its first piece was asked for would give nothing back. */
class Download implements AsyncIterableIterator<Uint8Array> {
  readonly #parts: DownloadParts
  readonly #aborted = () => void this.return().catch(() => undefined)
  #leftBytes: number
  #isOver = false

  constructor(parts: DownloadParts) {
    this.#parts = parts
    this.#leftBytes = parts.byteCount
    parts.signal.addEventListener('abort', this.#aborted)
    // It may have come to an end while it got its place.
    if (parts.signal.aborted) this.#leave()
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    const { pieces, pace, reads } = this.#parts
    // Waited for with nothing in hand.
    if (!this.#isOver) await pace.take(Math.min(this.#leftBytes, pieceBytesMax))
    try {
      const next = await reads.run(async () => (this.#isOver ? over : await pieces.next()))
      if (next.done) this.#leave()
      else this.#leftBytes -= next.value.byteLength
      return next
    } catch (error) {
      this.#leave()
      throw error
    }
  }

  async return(): Promise<IteratorResult<Uint8Array>> {
    this.#leave()
    // Behind a read that is under way.
    await this.#parts.pieces.return?.()
    return over
  }

  #leave(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#parts.signal.removeEventListener('abort', this.#aborted)
    this.#parts.left()
  }
}

const over = { done: true, value: undefined } as const

/** So much may go ahead of its time: timers come late and in whole milliseconds, and nobody shall lose by that. */
const aheadMs = 50

/** From here on the loop is left to those who report: bytes take twice their time. */
const busyFrom = 1 / 3

/** So many bytes a second in all, half as many beside a busy loop, given in the order they are asked for. */
class BytePace {
  readonly #world: World
  readonly #bytesPerMs: number
  /** When all that was given is over, at the permitted speed. */
  #freeAt: number

  constructor(world: World, bytesPerSecondMax: number) {
    this.#world = world
    this.#bytesPerMs = bytesPerSecondMax / 1000
    this.#freeAt = world.monotonic()
  }

  /** Comes back when so many bytes may go. They count from now on, whether they go or not. */
  take(byteCount: number): Promise<void> {
    const now = this.#world.monotonic()
    this.#freeAt = Math.max(this.#freeAt, now)
    const waitMs = this.#freeAt - now - aheadMs
    const times = this.#world.loopShare() >= busyFrom ? 2 : 1
    this.#freeAt += (times * byteCount) / this.#bytesPerMs
    if (waitMs <= 0) return Promise.resolve()
    return new Promise((resolve) => void this.#world.after(waitMs, resolve))
  }
}

/** So many at once; the others in the order they came. */
class Turns {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(atOnceMax: number) {
    this.#free = atOnceMax
  }

  async run<T>(task: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      return await task()
    } finally {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#free++
    }
  }
}
