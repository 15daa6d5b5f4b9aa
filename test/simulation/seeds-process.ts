import type { SeedResult } from '#bench/proof/seeds'
import { run } from '#test/simulation/run'

/** Runs the seeds that another process names, one at a time. Ends with that process; a signal is for that one alone. */

let stray: unknown

process.on('message', async (seed: number) => {
  const begun = performance.now()
  stray = undefined
  const result = await resultOf(seed)
  process.send?.({ seed, ms: performance.now() - begun, ...result } satisfies SeedResult)
})
// Nobody waited for it, and nobody heard of it.
process.on('unhandledRejection', (error) => {
  stray ??= error
})
process.on('SIGINT', () => {})
process.once('disconnect', () => process.exit())

/** One that fails is run once more, to say where. */
async function resultOf(seed: number, isTraced = false): Promise<Pick<SeedResult, 'counts' | 'fault'>> {
  try {
    const { acknowledged, counts } = await run(seed, { isTraced })
    if (stray === undefined) return { counts: { ...counts, acknowledged } }
    return { fault: textOf(stray) }
  } catch (error) {
    return isTraced ? { fault: textOf(error) } : resultOf(seed, true)
  }
}

/** With all that it comes from. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return [error.stack, ...(error.cause === undefined ? [] : [textOf(error.cause)])].join('\nbecause of ')
}
