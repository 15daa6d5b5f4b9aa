import { orNone } from '#dashboard/pages/firmware/embedded'
import { client } from '#dashboard/session'
import type { RolloutEntry } from '#model/rollout'

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
