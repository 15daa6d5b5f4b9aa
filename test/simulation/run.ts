import { type RunSummary, Simulation } from '#test/simulation/simulation'

/** The number of rests. */
const rests = 2
/** The number of steps before each rest. */
const stepsBetween = 45

/**
 * One life of the server from a seed: random devices, users and their clients, crashes, failed writes, slow and broken
 * sockets, changed permissions. Throws at the first violation; the same seed throws at the same one.
 *
 * `isTraced`: errors have stack traces. That costs a fifth of the time, so most runs do without.
 */
export async function run(seed: number, { isTraced = false } = {}): Promise<RunSummary> {
  // Yields to the event loop between seeds; within a seed nothing does.
  await new Promise((resolve) => setImmediate(resolve))
  const simulation = new Simulation(seed)
  const { stackTraceLimit } = Error
  if (!isTraced) Error.stackTraceLimit = 0
  try {
    await simulation.begin()
    for (let step = 1; step <= rests * stepsBetween; step++) {
      simulation.step = step
      await simulation.act()
      if (step % stepsBetween === 0) await simulation.checkQuiet()
    }
    return simulation.summary()
  } catch (error) {
    const what = error instanceof Error ? error.message : error
    const again = `SEED=${seed} npm test -- test/simulation/one-seed`
    throw new Error(`seed ${seed}, step ${simulation.step}: ${what}. Again: ${again}`, { cause: error })
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}
