/** Frames behind schedule at most; beyond that the schedule is what gives way. */
const behindMsMax = 60_000

/**
 * When frames are due at a steady rate. A frame that could not leave in time (the window was full) keeps the moment it
 * was due at, and its latency counts from there: otherwise a server that stalls would look fast, because nothing was
 * measured while it stalled.
 */
export class Pace {
  readonly #intervalMs: number
  readonly #framesPerSecond: number
  #nextAt = 0
  #extra = 0
  #extraAt = 0

  /** `framesPerSecond` 0: never due. */
  constructor(framesPerSecond: number) {
    this.#framesPerSecond = framesPerSecond
    this.#intervalMs = framesPerSecond > 0 ? 1000 / framesPerSecond : Infinity
  }

  start(now: number): void {
    this.#nextAt = now
    this.#extra = 0
  }

  /** The moment the next frame was due at, if that is not after `now`. */
  due(now: number): number | undefined {
    if (this.#extra > 0) return this.#extraAt
    if (now - this.#nextAt > behindMsMax) this.#nextAt = now - behindMsMax
    return this.#nextAt <= now ? this.#nextAt : undefined
  }

  sent(): void {
    if (this.#extra > 0) this.#extra--
    else this.#nextAt += this.#intervalMs
  }

  /** A second's worth of frames, all due now. */
  burst(now: number): void {
    this.#extra += Math.round(this.#framesPerSecond)
    this.#extraAt = now
  }

  /** Gives up what is due; answers how many frames that were. */
  skip(now: number): number {
    const frames = Math.max(0, Math.floor((now - this.#nextAt) / this.#intervalMs) + 1) + this.#extra
    this.#nextAt += (frames - this.#extra) * this.#intervalMs
    this.#extra = 0
    return frames
  }
}
