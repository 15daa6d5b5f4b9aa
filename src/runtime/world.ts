/**
 * The one door to time, chance, "later", and how busy all of that is. The real one stands on Node; the simulated one on a seed.
 *
 * Obligations: `now` never leaves the range of a Date; `monotonic` never goes back; tasks given to `soon` run in the
 * order given, after the current input was handled, never synchronously; a cancelled task never runs.
 */
export interface World {
  /** Unix milliseconds. */
  now(): number
  /** Milliseconds since some moment; only differences mean something. */
  monotonic(): number
  soon(task: () => void): void
  /** Like `soon`, but where input is handled, as if it had come from outside: there alone a connection may be closed. */
  asInput(task: () => void): void
  /** Runs `task` once after `delayMs`; the answer cancels it. Does not keep the process alive. */
  after(delayMs: number, task: () => void): () => void
  /**
   * How busy the loop was lately, 0 to 1. What can wait gives way by it: whatever else is asked of the same processors
   * waits for what it does.
   */
  loopShare(): number
  /** Cryptographically strong bytes (from the seed in a simulation). */
  random(byteCount: number): Uint8Array
}
