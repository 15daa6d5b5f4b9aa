import { createHash } from 'node:crypto'
import type { MailState } from '#actors/subscriber/state'
import { backOffMs } from '#runtime/back-off-time'
import type { World } from '#runtime/world'
import { randomFraction } from '#workers/back-off'

type Refusals = MailState['refusals']

/** Consecutive refusals of an address after which the address is suspended. */
const inRowMax = 3
/** The duration of the suspension: a day, in ms. */
const restMs = 86_400_000

/** Whether an address is suspended. An accepted mail or a new address ends the suspension. */
export function isResting(refusals: Refusals, address: string, now: number): boolean {
  if (!refusals || refusals.address !== markOf(address)) return false
  // A suspension that ends later than possible does not count: the clock was set back.
  return now < refusals.restsUntil && now + restMs >= refusals.restsUntil
}

/** The state after an address permanently refused one more mail. */
export function refusalsAfter(refusals: Refusals, address: string, now: number): NonNullable<Refusals> {
  const mark = markOf(address)
  const inRow = refusals?.address === mark ? refusals.inRow + 1 : 1
  return { inRow, address: mark, restsUntil: inRow >= inRowMax ? now + restMs : 0 }
}

/** A hash that identifies the address without revealing it. */
function markOf(address: string): string {
  return createHash('sha256').update(address).digest('hex').slice(0, 16)
}

const times = { firstMs: 60_000, longestMs: 3_600_000, spread: 0.2 }

/** The longest possible pause. */
export const retryMsMax = times.longestMs * (1 + times.spread)

/** The retry after one more temporary refusal: the pause doubles each time. Contract 5.7. */
export function retryAfter(before: MailState['retry'], world: World): NonNullable<MailState['retry']> {
  const attempts = (before?.attempts ?? 0) + 1
  return { attempts, nextAt: Math.round(world.now() + backOffMs(times, attempts, randomFraction(world))) }
}
