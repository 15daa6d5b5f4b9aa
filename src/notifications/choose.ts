import { mailHourMs } from '#actors/subscriber/mail'
import type { MailState } from '#actors/subscriber/state'
import { type DeliveryHead, type DeliveryRequest, requestAgeMsMax } from '#model/delivery'
import type { StoredSubscription } from '#model/subscription'
import { retryMsMax } from '#notifications/retry'

/** One of somebody's subscriptions of which he has not heard all. */
export interface Pending {
  readonly subscription: StoredSubscription
  /** The last request that he heard of. */
  readonly cursor: number
  readonly head: DeliveryHead
  /** Those behind the cursor that are kept, ascending. */
  readonly requests: readonly DeliveryRequest[]
  /** Requests before the cursor that were never kept, and that no digest has told yet. */
  readonly missed: number
}

/** What is done next for somebody. Times are Unix ms. */
export type Choice =
  | { readonly type: 'idle' }
  | { readonly type: 'wait'; readonly until: number }
  /** Too old to be told. */
  | { readonly type: 'expire'; readonly pending: Pending; readonly requests: readonly DeliveryRequest[] }
  | { readonly type: 'send'; readonly pending: Pending; readonly request: DeliveryRequest }
  | { readonly type: 'digest'; readonly pendings: readonly Pending[] }

/**
 * One mail at a time, in the order of what happened: by time, then by function. Within an hour from the first mail behind
 * the last hour somebody gets so many; what comes then is one digest when the hour is over, the first mail of the next
 * one. What was only counted is told by digests alone. Contract 5.7.
 *
 * `pendings`: only those with something to tell.
 */
export function choose(
  { hour, retry }: Pick<MailState, 'hour' | 'retry'>,
  pendings: readonly Pending[],
  now: number,
  mailsPerHourMax: number,
): Choice {
  if (pendings.length === 0) return { type: 'idle' }
  if (retry && isAhead(retry.nextAt, now)) return { type: 'wait', until: retry.nextAt }
  const endsAt = hour.from + mailHourMs
  const isOver = isHourOver(hour, now)
  const isFull = hour.count >= mailsPerHourMax
  if (isFull && !isOver) return { type: 'wait', until: endsAt }
  const oldest = oldestOf(pendings)
  if (!oldest) return isOver ? { type: 'digest', pendings } : { type: 'wait', until: endsAt }
  if (isExpired(oldest.request, now)) return { type: 'expire', ...expiredOf(oldest.pending, now) }
  if (isFull && isMany(pendings)) return { type: 'digest', pendings }
  return { type: 'send', ...oldest }
}

/** Also when the clock was put back since. */
export function isHourOver({ from }: MailState['hour'], now: number): boolean {
  return now < from || now >= from + mailHourMs
}

/** Numbers up to this one that were given and whose requests are not there. */
export function gapUpTo({ cursor, requests }: Pending, to: number): number {
  return to - cursor - requests.filter(({ seq }) => seq <= to).length
}

/** So far ahead as no retry is: the clock was put back. */
function isAhead(nextAt: number, now: number): boolean {
  return nextAt > now && nextAt <= now + retryMsMax
}

function isExpired({ at }: DeliveryRequest, now: number): boolean {
  return now - at >= requestAgeMsMax
}

/** The first ones, as many as are too old. */
function expiredOf(
  pending: Pending,
  now: number,
): { readonly pending: Pending; readonly requests: Pending['requests'] } {
  const { requests } = pending
  const firstYoung = requests.findIndex((request) => !isExpired(request, now))
  return { pending, requests: firstYoung < 0 ? requests : requests.slice(0, firstYoung) }
}

/** Of each subscription only the first comes next: how far he heard is one number. */
function oldestOf(
  pendings: readonly Pending[],
): { readonly pending: Pending; readonly request: DeliveryRequest } | undefined {
  let oldest: { readonly pending: Pending; readonly request: DeliveryRequest } | undefined
  for (const pending of pendings) {
    const [request] = pending.requests
    if (request && (!oldest || isBefore(pending, request, oldest))) oldest = { pending, request }
  }
  return oldest
}

function isBefore(
  { subscription }: Pending,
  { at }: DeliveryRequest,
  other: { readonly pending: Pending; readonly request: DeliveryRequest },
): boolean {
  if (at !== other.request.at) return at < other.request.at
  return subscription.function < other.pending.subscription.function
}

/** More than one mail would tell. */
function isMany(pendings: readonly Pending[]): boolean {
  let count = 0
  for (const pending of pendings) {
    count += pending.requests.length + pending.missed + gapUpTo(pending, pending.head.seq)
    if (count > 1) return true
  }
  return false
}
