import type { World } from '#runtime/world'

/** From here on a loop is left to those who report and read; what can wait does less a second. */
const busyShare = 1 / 2

/** Whether the loop was busy for half of its time or more of late. */
export function isBusy(world: World): boolean {
  return world.loopShare() >= busyShare
}
