import type { StoredUpdate } from '#actors/update/state'
import { type UpdateState, updateStates } from '#model/firmware'

/** What the states of an update mean to whoever brings it about. They are in the order in which it goes through them. */

/** Whether the device said that it began. */
export function hasBegunAt(state: UpdateState): boolean {
  return isWithin(state, 'started', 'rebooting')
}

/** Whether it counts among those that go on at once: begun by itself, and perhaps to download still. */
export function needsPlace({ state, context }: StoredUpdate): boolean {
  return context.by !== 'post' && isWithin(state, 'offering', 'downloading')
}

function isWithin(state: UpdateState, first: UpdateState, last: UpdateState): boolean {
  const rank = updateStates.indexOf(state)
  return rank >= updateStates.indexOf(first) && rank <= updateStates.indexOf(last)
}
