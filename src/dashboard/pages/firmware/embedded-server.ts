import { serverErrorOf, statusOf } from '#dashboard/parts/problem-text'
import { client } from '#dashboard/session'
import type { RolloutEntry } from '#model/rollout'

/**
 * Projects, releases, pins and rollouts exist only on the embedded update server, not on an external one. Contract 6.
 */

/** The answer, or `none` if the project does not exist yet: the first release, pin or rollout creates it. */
export async function orNone<Value, None>(call: Promise<Value>, none: None): Promise<Value | None> {
  try {
    return await call
  } catch (problem) {
    if (!isNotYet(problem)) throw problem
    return none
  }
}

/** The same for a list with pages. */
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

/** Whether the request was refused because firmware comes from another update server. */
export function isElsewhere(problem: unknown): boolean {
  return statusOf(problem) === 404 && serverErrorOf(problem).includes('another update server')
}

/** The fields of a rollout that the form replaces, without its progress. */
export function bodyOf(rollout: RolloutEntry | null): unknown {
  if (!rollout) return null
  const { firmware, percent, groups, errorThresholdPercent, window, maxAttempts } = rollout
  return { firmware, percent, groups, errorThresholdPercent, window, maxAttempts }
}

/** Null if there is none. */
export function readRollout(project: string): Promise<RolloutEntry | null> {
  return orNone(client.call('GET /updates/projects/:project/rollout', { parameters: { project } }), null)
}
