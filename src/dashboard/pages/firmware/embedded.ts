import { saidBy, statusOf } from '#dashboard/parts/problem-text'
import { client } from '#dashboard/session'
import type { RolloutEntry } from '#model/rollout'

/** Projects, releases, pins and rollouts are those of the embedded update server, which another may stand in for. Contract 6. */

/** The answer; `none` where the project is not there yet: the first release, pin or rollout makes it. */
export async function orNone<Value, None>(call: Promise<Value>, none: None): Promise<Value | None> {
  try {
    return await call
  } catch (problem) {
    if (!isNotYet(problem)) throw problem
    return none
  }
}

/** The same of a list that comes page by page. */
export async function* pagesOrNone<Row>(pages: AsyncIterable<readonly Row[]>): AsyncGenerator<readonly Row[]> {
  try {
    yield* pages
  } catch (problem) {
    if (!isNotYet(problem)) throw problem
    yield []
  }
}

function isNotYet(problem: unknown): boolean {
  return statusOf(problem) === 404 && !isElsewhere(problem)
}

/** Whether it is refused because firmware comes from another update server. */
export function isElsewhere(problem: unknown): boolean {
  return statusOf(problem) === 404 && saidBy(problem).includes('another update server')
}

/** What stands of a rollout in its form, and would be replaced by it: not how it goes. */
export function bodyOf(rollout: RolloutEntry | null): unknown {
  if (!rollout) return null
  const { firmware, percent, groups, errorThresholdPercent, window, maxAttempts } = rollout
  return { firmware, percent, groups, errorThresholdPercent, window, maxAttempts }
}

/** Null where there is none. */
export function readRollout(project: string): Promise<RolloutEntry | null> {
  return orNone(client.call('GET /updates/projects/:project/rollout', { parameters: { project } }), null)
}
