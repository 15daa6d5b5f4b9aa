import { createHash } from 'node:crypto'
import type { MailState } from '#actors/subscriber/state'

type Refusals = MailState['refusals']

/** So many in a row that an address refused. */
const inRowMax = 3
/** Then nothing is sent to it. A day, in ms. */
const restMs = 86_400_000

/** Whether nothing is sent to this address now. One that took its last mail, or another one, does not rest. */
export function isResting(refusals: Refusals, address: string, now: number): boolean {
  if (!refusals || refusals.address !== markOf(address)) return false
  // Further away than it can be: the clock was put back.
  return now < refusals.restsUntil && now + restMs >= refusals.restsUntil
}

/** It refused one for good. */
export function refusalsAfter(refusals: Refusals, address: string, now: number): NonNullable<Refusals> {
  const mark = markOf(address)
  const inRow = refusals?.address === mark ? refusals.inRow + 1 : 1
  return { inRow, address: mark, restsUntil: inRow >= inRowMax ? now + restMs : 0 }
}

/** By which it is known again and not read. */
function markOf(address: string): string {
  return createHash('sha256').update(address).digest('hex').slice(0, 16)
}
