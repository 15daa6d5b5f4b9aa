import type { RunningServer } from '#bench/harness/servers'

/** One of two that are compared: a server, and what is run on it for a short while. */
export interface Side<Result> {
  readonly server: Pick<RunningServer, 'processId'>
  run(): Promise<Result>
}

/**
 * The first one is run once more than the other, before and after each of its turns. Whichever is not run stands still, so
 * that what it would do in its own time is no part of what is measured.
 */
export async function inTurns<Result>(
  [first, second]: readonly [Side<Result>, Side<Result>],
  countEach: number,
): Promise<readonly [readonly Result[], readonly Result[]]> {
  const run = async (side: Side<Result>, other: Side<Result>) => {
    process.kill(other.server.processId, 'SIGSTOP')
    try {
      return await side.run()
    } finally {
      process.kill(other.server.processId, 'SIGCONT')
    }
  }
  // Warm, both of them.
  await run(first, second)
  await run(second, first)
  const results: readonly [Result[], Result[]] = [[await run(first, second)], []]
  for (let turn = 0; turn < countEach; turn++) {
    results[1].push(await run(second, first))
    results[0].push(await run(first, second))
  }
  return results
}

/** Each value by the mean of what was measured before and after it: of those there is one more. */
export function besideNeighbours(values: readonly number[], others: readonly number[]): number[] {
  return values.map((value, turn) => (2 * value) / ((others[turn] as number) + (others[turn + 1] as number)))
}
