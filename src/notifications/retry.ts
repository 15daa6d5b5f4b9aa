import type { MailState } from '#actors/subscriber/state'
import type { World } from '#runtime/world'
import { fractionOf } from '#workers/fraction'

const firstMs = 60_000
const longestMs = 3_600_000
/** So much more or less, by chance: those that failed together do not come together again. */
const spread = 0.2

/** No retry is further away. */
export const retryMsMax = longestMs * (1 + spread)

/** After a mail failed once more that may be taken another time: each time twice as long. Contract 5.7. */
export function retryAfter(before: MailState['retry'], world: World): NonNullable<MailState['retry']> {
  const attempts = (before?.attempts ?? 0) + 1
  const restMs = Math.min(firstMs * 2 ** (attempts - 1), longestMs)
  const spreadMs = restMs * spread * (2 * fractionOf(world) - 1)
  return { attempts, nextAt: Math.round(world.now() + restMs + spreadMs) }
}
