import type { SimulatedServer } from '#test/simulation/simulated-server'

/** What goes on in a run, for those who wait for it or break it. */
export interface Life {
  /** The process of now. */
  readonly server: SimulatedServer
  /** Some tasks run. */
  steps(count: number): Promise<void>
  /** Time goes on. */
  advance(ms: number): Promise<void>
  /** Much time passes at once. */
  leap(ms: number): Promise<void>
  /** Until nothing is left to be done, and nobody waits for an answer. */
  comeToRest(): Promise<void>
  /** Waits for what needs tasks to run. */
  pumped<T>(promise: Promise<T>): Promise<T>
  crash(): Promise<void>
  /** The next write fails. */
  failWrite(): void
  /** And perhaps there is no room for others either. */
  fillDisk(): void
}
