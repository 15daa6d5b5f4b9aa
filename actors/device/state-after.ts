import type { DeviceState } from '#actors/device/state'
import { applyChange, applyEntry, type DeviceChange } from '#actors/device/state-changes'
import type { Entry } from '#model/entry'

/**
 * The device after a turn, for checks before the commit; the state itself does not change. The copy shares alarms and
 * throttles with the state, so entries and changes must not modify those.
 */
export function stateAfter(
  state: DeviceState,
  entries: readonly Entry[],
  changes: readonly DeviceChange[] = [],
): DeviceState {
  const after: DeviceState = { ...state, services: state.services.map((service) => service.copy()) }
  for (const change of changes) applyChange(after, change)
  // The offsets are unknown yet, and no condition reads them.
  for (const entry of entries) applyEntry(after, entry, 0)
  return after
}
