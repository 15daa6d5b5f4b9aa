import { type RunSummary, Simulation } from '#test/simulation/simulation'

/** How often it comes to rest, and what happens before it does. */
const rests = 3
const stepsBetween = 60

/**
 * One life of the server from a seed: random devices, people and their dashboards, crashes, failed writes, slow and cut
 * sockets, edits of rights. Throws at the first thing that must not be; the same seed throws at the same thing.
 */
export async function run(seed: number): Promise<RunSummary> {
  const simulation = new Simulation(seed)
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
    const again = `SEED=${seed} npm test -- test/simulation`
    throw new Error(`seed ${seed}, step ${simulation.step}: ${what}. Again: ${again}`, { cause: error })
  }
}
