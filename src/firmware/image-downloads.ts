import { changeCount } from '#model/map-values'
import { Problem } from '#model/problem'
import { type BlobStore, pieceBytesMax } from '#runtime/blobs'
import type { World } from '#runtime/world'

const defaultAtOnceMax = 64
const defaultBytesPerSecondMax = 32 * 1024 * 1024
/** A request that waits longer for a slot is refused as overloaded. */
const waitMsMax = 30_000
/** Maximum number of waiting requests: above it, requests are refused at once. */
const waitingMax = 1000
/** Maximum number of downloads and waiting requests of one requester, so that one device cannot block the others. */
const perRequesterMax = 8
/** Maximum number of pieces that are read at the same time: the database uses the same threads. */
const readsMax = 4

export interface ImageDownloadsParts {
  readonly images: Pick<BlobStore, 'read'>
  readonly world: World
  readonly atOnceMax?: number
  readonly bytesPerSecondMax?: number
}

interface WaitingDownload {
  /** The download has a slot now. */
  go(): void
}

/**
 * Serves images with limits on concurrency and total rate, so that device reports are still processed.
 *
 * Contract: slots are given in the order of the requests. A slot is released when the caller asks for more after the
 * last byte, when the iterator is returned, a read fails or the signal aborts, whichever comes first. The next piece is
 * read after the previous one was taken.
 */
export class ImageDownloads {
  readonly #images: ImageDownloadsParts['images']
  readonly #world: World
  readonly #atOnceMax: number
  readonly #pace: BytePace
  readonly #reads = new Semaphore(readsMax)
  readonly #waiting = new Set<WaitingDownload>()
  /** By requester: number of running and waiting downloads. */
  readonly #countsByRequester = new Map<string, number>()
  /** Number of running downloads. */
  atOnce = 0

  constructor({ images, world, atOnceMax, bytesPerSecondMax }: ImageDownloadsParts) {
    this.#images = images
    this.#world = world
    this.#atOnceMax = atOnceMax ?? defaultAtOnceMax
    this.#pace = new BytePace(world, bytesPerSecondMax ?? defaultBytesPerSecondMax)
  }

  /**
   * The bytes from `from` to before `to`, once there is a slot. The caller must iterate or return the result once.
   * `requester`: for the limits.
   * @throws Problem `overloaded` if the wait is too long or aborted, or if too many requests wait, of all requesters or
   * of this one
   */
  async begin(
    sha256: string,
    from: number,
    to: number,
    signal: AbortSignal,
    requester: string,
  ): Promise<AsyncIterable<Uint8Array>> {
    const releaseCount = this.#count(requester)
    try {
      await this.#place(signal)
    } catch (error) {
      releaseCount()
      throw error
    }
    return new Download({
      pieces: this.#images.read(sha256, from, to)[Symbol.asyncIterator](),
      byteCount: to - from,
      pace: this.#pace,
      reads: this.#reads,
      signal,
      left: () => {
        releaseCount()
        this.#leave()
      },
    })
  }

  /** Counts a download. Returns the function that ends it; call it once. */
  #count(requester: string): () => void {
    if ((this.#countsByRequester.get(requester) ?? 0) >= perRequesterMax) throw new Problem('overloaded')
    changeCount(this.#countsByRequester, requester, 1)
    return () => changeCount(this.#countsByRequester, requester, -1)
  }

  #place(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.reject(new Problem('overloaded'))
    if (this.atOnce < this.#atOnceMax) {
      this.atOnce++
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
        reject(new Problem('overloaded', 'too many concurrent downloads'))
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

  /** The slot goes to the oldest waiting request. */
  #leave(): void {
    const [next] = this.#waiting
    if (next) next.go()
    else this.atOnce--
  }
}

interface DownloadParts {
  readonly pieces: AsyncIterator<Uint8Array>
  readonly byteCount: number
  readonly pace: BytePace
  readonly reads: Semaphore
  readonly signal: AbortSignal
  /** Called once when the slot is free. */
  left(): void
}

/** One download. Not a generator: a generator that is returned before its first piece would not release its slot. */
class Download implements AsyncIterableIterator<Uint8Array> {
  readonly #parts: DownloadParts
  readonly #aborted = () => void this.return().catch(() => undefined)
  #leftBytes: number
  #isOver = false

  constructor(parts: DownloadParts) {
    this.#parts = parts
    this.#leftBytes = parts.byteCount
    parts.signal.addEventListener('abort', this.#aborted)
    // The signal may have aborted while the download waited for its slot.
    if (parts.signal.aborted) this.#leave()
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    const { pieces, pace, reads } = this.#parts
    // Waits before the read, so that no piece stays in memory meanwhile.
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
    // Takes effect after a running read.
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

/** Bytes may be sent this much too early. Otherwise timers, which fire late and in whole ms, would reduce the rate. */
const aheadMs = 50

/** Above this load, bytes take twice the time, so that the event loop serves device reports first. */
const busyFrom = 1 / 3

/**
 * Limits the total bytes per second, and grants them in the order of the requests. The limit is halved while the event
 * loop is busy.
 */
class BytePace {
  readonly #world: World
  readonly #bytesPerMs: number
  /** When all granted bytes are sent at the permitted rate. */
  #freeAt: number

  constructor(world: World, bytesPerSecondMax: number) {
    this.#world = world
    this.#bytesPerMs = bytesPerSecondMax / 1000
    this.#freeAt = world.monotonic()
  }

  /** Resolves when this many bytes may be sent. The bytes count from now on, even if they are never sent. */
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

/** Limits concurrent tasks; the others wait in order. */
class Semaphore {
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
