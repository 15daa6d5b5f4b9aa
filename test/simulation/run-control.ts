import type { SimulatedServer } from '#test/simulation/simulated-server'

/** The interface of the run for code that waits or injects faults. */
export interface RunControl {
  /** The present process. */
  readonly server: SimulatedServer
  steps(count: number): Promise<void>
  advance(ms: number): Promise<void>
  /** Advances time in one large step. */
  leap(ms: number): Promise<void>
  /** Runs until no work and no pending answer is left. */
  comeToRest(): Promise<void>
  /** Waits for a promise that needs tasks to run. */
  pumped<T>(promise: Promise<T>): Promise<T>
  crash(): Promise<void>
  /** Makes the next write fail. */
  failWrite(): void
  /** Makes the next write fail, and perhaps the following ones, as on a full disk. */
  fillDisk(): void
}
