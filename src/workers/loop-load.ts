import type { World } from '#runtime/world'

/** From this share on, the loop is reserved for reports and reads; background work slows down. */
const busyShare = 1 / 2

/** Whether the loop was recently busy for at least this share of its time. */
export function isBusy(world: World): boolean {
  return world.loopShare() >= busyShare
}
