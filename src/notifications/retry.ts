import type { MailState } from '#actors/subscriber/state'
import { backOffMs } from '#runtime/back-off-time'
import type { World } from '#runtime/world'
import { randomFraction } from '#workers/back-off'

const times = { firstMs: 60_000, longestMs: 3_600_000, spread: 0.2 }

/** The longest possible pause. */
export const retryMsMax = times.longestMs * (1 + times.spread)

/** The retry after one more temporary refusal: the pause doubles each time. Contract 5.7. */
export function retryAfter(before: MailState['retry'], world: World): NonNullable<MailState['retry']> {
  const attempts = (before?.attempts ?? 0) + 1
  return { attempts, nextAt: Math.round(world.now() + backOffMs(times, attempts, randomFraction(world))) }
}
