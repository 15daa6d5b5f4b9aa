import type { World } from '#runtime/world'

/**
 * A loop that works for at least this share of its time counts as busy: background work slows down in favour of reports
 * and reads.
 */
const busyShare = 1 / 2

/** Whether the loop recently worked for at least `busyShare` of its time. */
export function isBusy(world: World): boolean {
  return world.loopShare() >= busyShare
}
