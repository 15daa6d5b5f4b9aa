/**
 * The only source of time, random values, delayed tasks and the load of the loop. One implementation uses Node, the
 * other a simulation with a seed.
 *
 * Obligations: `now` stays within the range of a Date; `monotonic` never decreases; tasks of `soon` run in order, after
 * the current input, never synchronously; a cancelled task never runs.
 */
export interface World {
  /** Unix milliseconds. */
  now(): number
  /** Milliseconds since an arbitrary moment; only differences are meaningful. */
  monotonic(): number
  soon(task: () => void): void
  /** Like `soon`, but runs the task as if a socket had called it. Only such tasks may cut off connections. */
  asInput(task: () => void): void
  /** Runs `task` once after `delayMs`. The returned function cancels it. Does not keep the process alive. */
  after(delayMs: number, task: () => void): () => void
  /**
   * The recent load of the loop, 0 to 1. Deferrable work slows down with it, because other work needs the same
   * processors.
   */
  loopShare(): number
  /** Cryptographically strong bytes (from the seed in a simulation). */
  random(byteCount: number): Uint8Array
}
