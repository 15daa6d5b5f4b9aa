import type { MailState } from '#actors/subscriber/state'
import type { PassReason } from '#model/delivery'
import type { StoredSubscription } from '#model/subscription'

/** What somebody who is subscribed can be asked or told. */
export type SubscriberCommand =
  | Subscribe
  | SetLocale
  | Unsubscribe
  | TopicEnded
  | EraseSubscriber
  | AdvanceMail
  | MailFailed

/**
 * The asker has looked that the function is there and that he may hear of it. `from`: its last request by then. Answered
 * with the subscription.
 */
export interface Subscribe {
  readonly type: 'subscribe'
  readonly subscription: StoredSubscription
  readonly from: number
}

/** Answered with the subscription. `isRepeated`: asked before under the same `Idempotency-Key`, and perhaps done. */
export interface SetLocale {
  readonly type: 'set_locale'
  readonly id: string
  readonly locale: string
  readonly isRepeated?: boolean
}

/** `isByLink`: of a mail; one that is gone already is no fault then. */
export interface Unsubscribe {
  readonly type: 'unsubscribe'
  readonly id: string
  readonly isByLink?: true
}

/** The function is no more. */
export interface TopicEnded {
  readonly type: 'topic_ended'
  readonly function: string
}

/** Told in the commit in which user or key end: nobody is left to hear of it. */
interface EraseSubscriber {
  readonly type: 'erase'
}

/** What became of one mail, or of requests that he gets no mail of. */
export interface AdvanceMail {
  readonly type: 'advance'
  readonly moves: readonly CursorMove[]
  /** Null: only moved. */
  readonly outcome: MailOutcome | null
  /** As they are from now on. */
  readonly hour: MailState['hour']
  readonly refusals: MailState['refusals']
}

/**
 * `to`: the last request that he has heard of, or never will. `missed`: how many requests of this function that were never
 * kept wait for his next digest from now on, 0 for none; undefined: as many as did.
 */
export interface CursorMove {
  readonly subscription: string
  readonly to: number
  readonly missed?: number
}

/** `of`: how many requests it told. */
export type MailOutcome =
  | { readonly sent: 'mail' | 'digest'; readonly of: number }
  | { readonly passed: PassReason; readonly count: number }

/** It is tried again. */
export interface MailFailed {
  readonly type: 'failed'
  readonly retry: NonNullable<MailState['retry']>
}
