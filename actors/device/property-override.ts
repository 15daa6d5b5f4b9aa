import { type DeviceState, serviceOf } from '#actors/device/state'

/** A property in an entry: a value or a removal. */
export interface PropertyItem {
  readonly service: string
  readonly propId: number
  readonly isRemoval: boolean
  /** Offset of the entry. */
  readonly offset: number
}

/**
 * Whether a later entry contains the property again, so that a client that catches up can skip this item. Only
 * published entries count: others may never be stored.
 * @param lastOffset offset of the last entry that was applied to the state
 * @param published offset of the last published entry
 */
export function isOverridden(state: DeviceState, lastOffset: number, item: PropertyItem, published: number): boolean {
  const found = serviceOf(state, item.service)
  const index = found?.shape.indexOf.get(item.propId)
  // The property does not exist any more, so a later entry removed this value. The later entry is certainly published
  // if all entries are published. A removal is not skipped, because it may be the last entry about the property.
  if (!found || index === undefined) return !item.isRemoval && lastOffset > item.offset && lastOffset <= published
  const last = found.offsetOf(index)
  return last > item.offset && last <= published
}
