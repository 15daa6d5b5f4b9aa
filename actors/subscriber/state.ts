import { parseCrn } from '#model/crn'
import type { SkipReason } from '#model/delivery'
import type { StoredSubscription } from '#model/subscription'
import { type ActorAddress, type CommandOf, type NoFields, type Tell, tell } from '#runtime/actor'

/**
 * The subscriptions of a user. After the last one ended, only the current period and the refusals of the address stay
 * stored.
 */
export interface SubscriberState {
  readonly tenant: string
  readonly id: string
  /** In the order of creation. */
  subscriptions: readonly StoredSubscription[]
  mail: MailState
}

/** Progress of the mails to one user. Times are Unix ms. */
export interface MailState {
  /**
   * By subscription: the number of the last request of its function that was mailed, alone or in a digest, or passed
   * over.
   */
  readonly cursors: Readonly<Record<string, number>>
  /** The period in which mails are counted; it begins with the first mail after the previous period. */
  readonly hour: { readonly from: number; readonly count: number }
  /** By function: the number of unstored requests that the next digest will mention. */
  readonly missed: Readonly<Record<string, number>>
  /** Failed attempts of the next mail; null: none. */
  readonly retry: { readonly attempts: number; readonly nextAt: number } | null
  /**
   * How often in a row the user's address was rejected. `address`: the first 16 hex digits of its SHA-256.
   * `restsUntil`: no mails are sent until then; 0: mails are sent. Null: the address was not rejected since it last
   * accepted a mail.
   */
  readonly refusals: { readonly inRow: number; readonly address: string; readonly restsUntil: number } | null
}

export const subscriptionsRecord = 'subscriptions'
export const mailRecord = 'mail'

/** The bare id of a user or of an API key that acts as a user, or `anonymous`. `user` is its resource name. */
export function subscriberIdOf(user: string): string {
  const crn = parseCrn(user)
  return crn && 'id' in crn ? crn.id : user.slice(user.indexOf(':') + 1)
}

/** Subscribers of functions: entries `<functionId>/<subscriber>/<subscriptionId>`. */
export const topicIndex = 'topic'

export function topicRow(fn: string, subscriber: string, subscription: string): string {
  return `${fn}/${subscriber}/${subscription}`
}

export function partsOfTopicRow(row: string): {
  readonly function: string
  readonly subscriber: string
  readonly subscription: string
} {
  const [fn = '', subscriber = '', subscription = ''] = row.split('/')
  return { function: fn, subscriber, subscription }
}

/** Commands of a subscriber. */
export interface SubscriberCommands {
  /**
   * The caller has checked that the function exists and that the user may receive its mails. `from` is the number of the
   * last mail that the function had requested at that time. Answered with the subscription.
   */
  subscribe: {
    readonly subscription: StoredSubscription
    readonly from: number
  }
  /** Answered with the subscription. */
  set_locale: {
    readonly id: string
    readonly locale: string
    /** A request with the same `Idempotency-Key` came before and may have succeeded. */
    readonly isRepeated?: boolean
  }
  unsubscribe: {
    readonly id: string
    /** By the link in a mail; a missing subscription is then no error. */
    readonly isByLink?: true
  }
  /** The function was deleted. */
  topic_ended: { readonly function: string }
  /** Sent in the commit that deletes the user or key. */
  erase: NoFields
  /** The outcome of one mail, or of requests that are not mailed to the user. */
  advance: {
    readonly moves: readonly CursorMove[]
    /** Null: no mail is counted. */
    readonly outcome: MailOutcome | null
    /** `hour` and `refusals`: the values from now on. */
    readonly hour: MailState['hour']
    readonly refusals: MailState['refusals']
  }
  /** The mail will be tried again. */
  failed: { readonly retry: NonNullable<MailState['retry']> }
}

export type SubscriberCommand = CommandOf<SubscriberCommands>

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
