import type { SeedResult } from '#bench/proof/mutants'
import { runHistory } from '#test/simulation/history-run'
import { run } from '#test/simulation/run'

/** Runs the seeds that its parent process sends, one at a time. Ends with the parent. */

const isHistoryOnly = process.argv[2] === 'history'
let stray: unknown

process.on('message', async (seed: number) => {
  stray = undefined
  const fault = await faultOf(seed)
  process.send?.({ seed, ...(fault !== undefined && { fault }) } satisfies SeedResult)
})
// An unhandled rejection.
process.on('unhandledRejection', (error) => {
  stray ??= error
})
process.once('disconnect', () => process.exit())

/** The fault of a seed; undefined if there is none. A failing seed runs again with stack traces. */
async function faultOf(seed: number, isTraced = false): Promise<string | undefined> {
  try {
    await (isHistoryOnly ? runHistory(seed) : run(seed, { isTraced }))
    return stray === undefined ? undefined : textOf(stray)
  } catch (error) {
    return isTraced ? textOf(error) : faultOf(seed, true)
  }
}

/** Includes the causes of the error. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return [error.stack, ...(error.cause === undefined ? [] : [textOf(error.cause)])].join('\nbecause of ')
}
