import { type RunSummary, Simulation } from '#test/simulation/simulation'

/** How often it comes to rest, and what happens before it does. */
const rests = 2
const stepsBetween = 45

/**
 * One life of the server from a seed: random devices, people and their dashboards, crashes, failed writes, slow and cut
 * sockets, edits of rights. Throws at the first thing that must not be; the same seed throws at the same thing.
 *
 * `isTraced`: errors know where they come from. That costs a fifth of the time, so one seed is run with it.
 */
export async function run(seed: number, { isTraced = false } = {}): Promise<RunSummary> {
  // Between seeds whoever runs them gets round the loop: inside of one nobody does.
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
