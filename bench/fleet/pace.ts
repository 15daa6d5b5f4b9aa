/** Frames behind schedule at most; beyond that the schedule is what gives way. */
const behindMsMax = 60_000

/**
 * When frames are due at a steady rate. A frame that could not leave in time (the window was full) keeps the moment it
 * was due at, and its latency counts from there: otherwise a server that stalls would look fast, because nothing was
 * measured while it stalled.
 */
export class Pace {
  readonly #intervalMs: number
  #nextAt = 0

  /** `framesPerSecond` 0: never due. */
  constructor(framesPerSecond: number) {
    this.#intervalMs = framesPerSecond > 0 ? 1000 / framesPerSecond : Infinity
  }

  start(now: number): void {
    this.#nextAt = now
  }

  /** The moment the next frame was due at, if that is not after `now`. */
  due(now: number): number | undefined {
    if (now - this.#nextAt > behindMsMax) this.#nextAt = now - behindMsMax
    return this.#nextAt <= now ? this.#nextAt : undefined
  }

  sent(): void {
    this.#nextAt += this.#intervalMs
  }

  /** Gives up the due frames; answers their number. */
  skip(now: number): number {
    const frames = Math.max(0, Math.floor((now - this.#nextAt) / this.#intervalMs) + 1)
    this.#nextAt += frames * this.#intervalMs
    return frames
  }
}
