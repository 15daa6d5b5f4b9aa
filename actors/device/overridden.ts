import { type DeviceState, serviceOf } from '#actors/device/state'

/**
 * Whether a later entry says what a property stands at, so that who was away need not hear this one. Only entries that
 * were told already count: one that is still to be stored may never be.
 * @param lastOffset the last entry applied to the state
 * @param told the last entry told
 */
export function isOverridden(
  state: DeviceState,
  lastOffset: number,
  service: string,
  propId: number,
  offset: number,
  told: number,
): boolean {
  const found = serviceOf(state, service)
  const index = found?.shape.indexOf.get(propId)
  // Gone since: some later entry said so, and it was told if all was.
  if (!found || index === undefined) return lastOffset > offset && lastOffset <= told
  const last = found.offsets[index] ?? 0
  return last > offset && last <= told
}
