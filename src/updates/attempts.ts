import type { UpdateAttempts } from '#actors/update/state'
import type { OfferedFirmware } from '#model/update-offer'

/** How often a firmware is tried by itself that comes by no rollout. */
const attemptsMax = 3

/**
 * Whether a firmware may be tried by itself: a device that installs it badly would do so for ever. Another firmware, or
 * the same by another rollout, begins anew.
 */
export function mayTry(attempts: UpdateAttempts | null, offer: OfferedFirmware, now: number): boolean {
  if (!attempts) return true
  const { firmware, index, rollout, count, nextAt } = attempts
  if (firmware !== offer.firmware || index !== offer.index || rollout !== (offer.rollout?.id ?? null)) return true
  if (nextAt !== null) return nextAt <= now
  return count < (offer.rollout?.maxAttempts ?? attemptsMax)
}
