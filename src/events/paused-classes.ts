import type { AudienceClass, Audiences } from '#events/audience'
import { Slices } from '#runtime/slices'
import type { World } from '#runtime/world'

/**
 * The shortest time between two RESYNCs of a class. Permissions may change often, with the members of a group, and each
 * RESYNC makes clients read the full state. Contract 12.
 */
const resyncIntervalMs = 1_000

/**
 * Ends the pauses of classes whose access changed, in slices: from now on they receive what their new access allows, a
 * RESYNC first. A class whose last RESYNC was less than a second ago stays paused until the second has passed.
 */
export function resumeClasses(
  world: World,
  audiences: Audiences,
  paused: AudienceClass[],
  resync: (audience: AudienceClass) => void,
): void {
  const now = world.monotonic()
  const slice = new Slices(world)
  for (let audience = paused.pop(); audience; audience = paused.pop()) {
    // The class may have been resumed before, or its last socket has gone.
    if (!audience.isPaused || audience.sockets === 0) continue
    const early = audience
    const waitMs = early.resyncedAt + resyncIntervalMs - now
    if (waitMs > 0) {
      world.after(waitMs, () => resumeClasses(world, audiences, [early], resync))
      continue
    }
    audiences.resume(audience)
    audience.resyncedAt = now
    resync(audience)
    if (slice.isOver) break
  }
  if (paused.length > 0) world.soon(() => resumeClasses(world, audiences, paused, resync))
}
