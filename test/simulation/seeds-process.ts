import type { SeedResult } from '#bench/proof/seeds'
import { runHistory } from '#test/simulation/history-run'
import { run } from '#test/simulation/run'

/** Runs the seeds that its parent process sends, one at a time. Ends with the parent. */

const isHistoryOnly = process.argv[2] === 'history'
let stray: unknown

process.on('message', async (seed: number) => {
  const begun = performance.now()
  stray = undefined
  const result = await resultOf(seed)
  process.send?.({ seed, ms: performance.now() - begun, ...result } satisfies SeedResult)
})
// An unhandled rejection.
process.on('unhandledRejection', (error) => {
  stray ??= error
})
process.once('disconnect', () => process.exit())

/** Runs a failing seed again with stack traces. */
async function resultOf(seed: number, isTraced = false): Promise<Pick<SeedResult, 'counts' | 'fault'>> {
  try {
    const { acknowledged, counts } = await (isHistoryOnly ? runHistory(seed) : run(seed, { isTraced }))
    if (stray === undefined) return { counts: { ...counts, acknowledged } }
    return { fault: textOf(stray) }
  } catch (error) {
    return isTraced ? { fault: textOf(error) } : resultOf(seed, true)
  }
}

/** Includes the causes of the error. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return [error.stack, ...(error.cause === undefined ? [] : [textOf(error.cause)])].join('\nbecause of ')
}
