import type { MailState, SubscriberState } from '#actors/subscriber/state'
import type { SkipReason } from '#model/delivery'
import type { StoredSubscription } from '#model/subscription'
import { type ActorAddress, type Tell, tell } from '#runtime/actor'

/** Commands of a subscriber. */
export type SubscriberCommand =
  | Subscribe
  | SetLocale
  | Unsubscribe
  | TopicEnded
  | EraseSubscriber
  | AdvanceMail
  | MailFailed

/**
 * The caller has checked that the function exists and that the user may receive its mails. `from` is the number of the
 * last mail that the function had requested at that time. Answered with the subscription.
 */
export interface Subscribe {
  readonly type: 'subscribe'
  readonly subscription: StoredSubscription
  readonly from: number
}

/** Answered with the subscription. */
export interface SetLocale {
  readonly type: 'set_locale'
  readonly id: string
  readonly locale: string
  /** A request with the same `Idempotency-Key` came before and may have succeeded. */
  readonly isRepeated?: boolean
}

export interface Unsubscribe {
  readonly type: 'unsubscribe'
  readonly id: string
  /** By the link in a mail; a missing subscription is then no error. */
  readonly isByLink?: true
}

/** The function was deleted. */
export interface TopicEnded {
  readonly type: 'topic_ended'
  readonly function: string
}

/** Sent in the commit that deletes the user or key. */
interface EraseSubscriber {
  readonly type: 'erase'
}

/** The outcome of one mail, or of requests that are not mailed to the user. */
export interface AdvanceMail {
  readonly type: 'advance'
  readonly moves: readonly CursorMove[]
  /** Null: no mail is counted. */
  readonly outcome: MailOutcome | null
  /** `hour` and `refusals`: the values from now on. */
  readonly hour: MailState['hour']
  readonly refusals: MailState['refusals']
}

/**
 * `to`: the number of the last mail request that was mailed or passed over. `missed`: some mail requests of the function
 * were only counted, not stored; the number of them that the next digest mentions. Undefined: the number stays.
 */
export interface CursorMove {
  readonly subscription: string
  readonly to: number
  readonly missed?: number
}

/** `of`: the number of mail requests in the mail. `passed`: why mail requests were passed over. */
export type MailOutcome =
  | { readonly sent: 'mail' | 'digest'; readonly of: number }
  | { readonly passed: SkipReason; readonly count: number }

/** The mail will be tried again. */
export interface MailFailed {
  readonly type: 'failed'
  readonly retry: NonNullable<MailState['retry']>
}

/** The subscriptions of one user and their progress. `id`: see `subscriberIdOf`. */
export function subscriberAddress(tenant: string, id: string): ActorAddress<SubscriberState, SubscriberCommand> {
  return { kind: 'subscriber', tenant, id }
}

/**
 * Sent in the commit that deletes a user, or an API key that acts as a user; removes all subscriptions. `id`: see
 * `subscriberIdOf`.
 */
export function eraseSubscriber(tenant: string, id: string): Tell {
  return tell(subscriberAddress(tenant, id), { type: 'erase' })
}
