import { serverErrorOf, statusOf } from '#dashboard/components/problem-text'
import { client } from '#dashboard/session'
import type { RolloutEntry } from '#model/rollout'

/**
 * Projects, releases, pins and rollouts exist only on the embedded update server, not on an external one. Contract 6.
 */

/** The answer, or `empty` if the project does not exist yet: the first release, pin or rollout creates it. */
export async function answerOrDefault<Value, Empty>(call: Promise<Value>, empty: Empty): Promise<Value | Empty> {
  try {
    return await call
  } catch (problem) {
    if (!isMissing(problem)) throw problem
    return empty
  }
}

/** The same for a list with pages. */
export async function* pagesOrEmpty<Row>(pages: AsyncIterable<readonly Row[]>): AsyncGenerator<readonly Row[]> {
  try {
    yield* pages
  } catch (problem) {
    if (!isMissing(problem)) throw problem
    yield []
  }
}

function isMissing(problem: unknown): boolean {
  return statusOf(problem) === 404 && !isExternalServer(problem)
}

/** Whether the request was refused because firmware comes from another update server. */
export function isExternalServer(problem: unknown): boolean {
  return statusOf(problem) === 404 && serverErrorOf(problem).includes('another update server')
}

/** The fields of a rollout in its form, without its progress. */
export function rolloutSettings(rollout: RolloutEntry | null): unknown {
  if (!rollout) return null
  const { firmware, percent, groups, errorThresholdPercent, window, maxAttempts } = rollout
  return { firmware, percent, groups, errorThresholdPercent, window, maxAttempts }
}

/** Null if the project has no rollout. */
export function readRollout(project: string): Promise<RolloutEntry | null> {
  return answerOrDefault(client.call('GET /updates/projects/:project/rollout', { parameters: { project } }), null)
}
