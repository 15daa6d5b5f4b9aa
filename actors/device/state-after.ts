import { applyChange, applyEntry, type DeviceChange } from '#actors/device/apply'
import type { DeviceState } from '#actors/device/state'
import type { Entry } from '#model/entry'

/**
 * The device as a turn leaves it, for who has to look at it before: the state itself is not touched. What stands of its
 * alarms and throttles is the state's own, so no entry and no change may be about them.
 */
export function stateAfter(
  state: DeviceState,
  entries: readonly Entry[],
  changes: readonly DeviceChange[] = [],
): DeviceState {
  const after: DeviceState = { ...state, services: state.services.map((service) => service.copy()) }
  for (const change of changes) applyChange(after, change)
  // Whatever their offsets will be: no condition reads them.
  for (const entry of entries) applyEntry(after, entry, 0)
  return after
}
