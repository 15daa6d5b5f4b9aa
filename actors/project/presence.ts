import { itemCount, type ProjectState, projectIndex } from '#actors/project/state'
import type { IndexChange } from '#runtime/actor'

/** A project exists from its first release, pin or rollout until the last one is deleted. */
export function presenceAfter(state: ProjectState, more: 1 | -1): readonly IndexChange[] {
  const [before, after] = [itemCount(state), itemCount(state) + more]
  if (before > 0 && after > 0) return []
  return [{ index: projectIndex, entry: state.project, isPresent: after > 0 }]
}
