import { type DeviceState, serviceOf } from '#actors/device/state'

/** What an entry says of a property: what it stands at, or that it is gone. */
export interface SaidItem {
  readonly service: string
  readonly propId: number
  readonly isRemoval: boolean
  /** The entry's. */
  readonly offset: number
}

/**
 * Whether a later entry says it again, so that who was away need not hear this one. Only entries that were told already
 * count: one that is still to be stored may never be.
 * @param lastOffset the last entry applied to the state
 * @param told the last entry told
 */
export function isOverridden(state: DeviceState, lastOffset: number, item: SaidItem, told: number): boolean {
  const found = serviceOf(state, item.service)
  const index = found?.shape.indexOf.get(item.propId)
  // Gone. Of a value, some later entry said so, and it was told if everything was. Of a removal, this may be the one.
  if (!found || index === undefined) return !item.isRemoval && lastOffset > item.offset && lastOffset <= told
  const last = found.offsetOf(index)
  return last > item.offset && last <= told
}
