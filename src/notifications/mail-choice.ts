import { createHash } from 'node:crypto'
import type { MailState } from '#actors/subscriber/state'
import { mailHourMs } from '#actors/subscriber/subscriber'
import { type DeliveryHead, type DeliveryRequest, requestAgeMsMax } from '#model/delivery'
import type { StoredSubscription } from '#model/subscription'
import { backOffMs } from '#runtime/back-off-time'
import type { World } from '#runtime/world'
import { randomFraction } from '#workers/back-off'

/** A subscription with requests that the subscriber has not been notified of. */
export interface PendingSubscription {
  readonly subscription: StoredSubscription
  /** The number of the last request the subscriber was notified of. */
  readonly cursor: number
  readonly head: DeliveryHead
  /** The stored requests after the cursor, ascending. */
  readonly requests: readonly DeliveryRequest[]
  /** The count of requests before the cursor that were never stored and that no digest has reported yet. */
  readonly missed: number
}

export interface PendingRequest {
  readonly pending: PendingSubscription
  readonly request: DeliveryRequest
}

/** The next step for a subscriber. Times are Unix ms. */
export type MailChoice =
  | { readonly type: 'idle' }
  | { readonly type: 'wait'; readonly until: number }
  /** The requests are too old to be mailed. */
  | { readonly type: 'expire'; readonly pending: PendingSubscription; readonly requests: readonly DeliveryRequest[] }
  | ({ readonly type: 'send' } & PendingRequest)
  | { readonly type: 'digest'; readonly pendings: readonly PendingSubscription[] }

/**
 * Chooses one mail at a time, in the order of events: by time, then by function. A subscriber gets up to
 * `mailsPerHourMax` mails in an hour, which begins with the first mail after the previous hour. Later requests go into
 * one digest when the hour is over; that digest is the first mail of the next hour. Requests that were counted but not
 * stored appear only in digests. Contract 5.7.
 *
 * `pendings` holds only subscriptions that have something to report.
 */
export function chooseMail(
  { hour, retry }: Pick<MailState, 'hour' | 'retry'>,
  pendings: readonly PendingSubscription[],
  now: number,
  mailsPerHourMax: number,
): MailChoice {
  if (pendings.length === 0) return { type: 'idle' }
  if (retry && isAhead(retry.nextAt, now)) return { type: 'wait', until: retry.nextAt }
  const endsAt = hour.from + mailHourMs
  const isOver = isHourOver(hour, now)
  const isFull = hour.count >= mailsPerHourMax
  if (isFull && !isOver) return { type: 'wait', until: endsAt }
  const oldest = oldestOf(pendings)
  if (!oldest) return isOver ? { type: 'digest', pendings } : { type: 'wait', until: endsAt }
  const { pending, request } = oldest
  if (isExpired(request, now)) return { type: 'expire', pending, requests: expiredOf(pending, now) }
  if (isFull && isMany(pendings)) return { type: 'digest', pendings }
  return { type: 'send', ...oldest }
}

/** Whether the hour is over. Also true if the clock was set back to a time before the hour. */
export function isHourOver({ from }: MailState['hour'], now: number): boolean {
  return now < from || now >= from + mailHourMs
}

/** The number of requests after the cursor, up to `to`, that were counted but not stored. */
export function gapUpTo({ cursor, requests }: PendingSubscription, to: number): number {
  return to - cursor - requests.filter(({ seq }) => seq <= to).length
}

/** Whether the retry is in the future. If `nextAt` is further ahead than any retry can be, the clock was set back. */
function isAhead(nextAt: number, now: number): boolean {
  return nextAt > now && nextAt <= now + retryMsMax
}

function isExpired({ at }: DeliveryRequest, now: number): boolean {
  return now - at >= requestAgeMsMax
}

function expiredOf({ requests }: PendingSubscription, now: number): readonly DeliveryRequest[] {
  const firstYoung = requests.findIndex((request) => !isExpired(request, now))
  return firstYoung < 0 ? requests : requests.slice(0, firstYoung)
}

/** Considers only the first request of each subscription, because a cursor is a single number. */
function oldestOf(pendings: readonly PendingSubscription[]): PendingRequest | undefined {
  let oldest: PendingRequest | undefined
  for (const pending of pendings) {
    const [request] = pending.requests
    if (request && (!oldest || isBefore({ pending, request }, oldest))) oldest = { pending, request }
  }
  return oldest
}

function isBefore({ pending, request }: PendingRequest, other: PendingRequest): boolean {
  if (request.at !== other.request.at) return request.at < other.request.at
  return pending.subscription.function < other.pending.subscription.function
}

/** Whether there is more than one event to report. */
function isMany(pendings: readonly PendingSubscription[]): boolean {
  let count = 0
  for (const pending of pendings) {
    count += pending.requests.length + pending.missed + gapUpTo(pending, pending.head.seq)
    if (count > 1) return true
  }
  return false
}

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

const retryMsMax = times.longestMs * (1 + times.spread)

/** The retry after one more temporary refusal: the pause doubles each time. Contract 5.7. */
export function retryAfter(before: MailState['retry'], world: World): NonNullable<MailState['retry']> {
  const attempts = (before?.attempts ?? 0) + 1
  return { attempts, nextAt: Math.round(world.now() + backOffMs(times, attempts, randomFraction(world))) }
}
