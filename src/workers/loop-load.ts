import type { World } from '#runtime/world'

/**
 * From this share of its time on, the loop counts as busy: background work slows down in favour of reports and reads.
 */
const busyShare = 1 / 2

/** Whether the loop was recently busy for at least this share of its time. */
export function isBusy(world: World): boolean {
  return world.loopShare() >= busyShare
}
