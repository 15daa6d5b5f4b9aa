import type { Stage } from '#actors/project/commands'
import { projectAddress } from '#actors/project/state'
import type { CountedUpdate, UpdateContext } from '#actors/update/state'
import type { UpdateState } from '#model/firmware'
import { releaseName } from '#model/release'
import { type Tell, tell } from '#runtime/actor'

/**
 * The stage that the project counts for a device after a turn: the stage of the current offer. While there is no offer,
 * the previous stage stays, so checking for an update does not remove a device from a rollout. Images of external
 * update servers are not counted.
 */
export function countedAfter(
  before: CountedUpdate | null,
  state: UpdateState,
  { project, offer }: UpdateContext,
): CountedUpdate | null {
  if (!offer) return before
  if (offer.url !== null) return null
  const { firmware, hardware = null, index, rollout } = offer
  return { project, release: { firmware, hardware, index }, rollout: rollout?.id ?? null, stage: stageOf(state) }
}

/** The messages by which a project counts the new stage of an update, and no longer the stage before. */
export function stageReports(tenant: string, before: CountedUpdate | null, after: CountedUpdate | null): Tell[] {
  if (before && after && isSameTarget(before, after))
    return before.stage === after.stage ? [] : [tellOf(tenant, after, before.stage, after.stage)]
  return [
    ...(before ? [tellOf(tenant, before, before.stage, null)] : []),
    ...(after ? [tellOf(tenant, after, null, after.stage)] : []),
  ]
}

function stageOf(state: UpdateState): Stage {
  return state === 'done' || state === 'failed' || state === 'refused' ? state : 'running'
}

/** Whether both have the same project, rollout and release. */
function isSameTarget(a: CountedUpdate, b: CountedUpdate): boolean {
  return a.project === b.project && a.rollout === b.rollout && releaseName(a.release) === releaseName(b.release)
}

function tellOf(
  tenant: string,
  { project, release, rollout }: CountedUpdate,
  from: Stage | null,
  to: Stage | null,
): Tell {
  return tell(projectAddress(tenant, project), { type: 'job_moved', release, rollout, from, to })
}
