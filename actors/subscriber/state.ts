import { parseCrn } from '#model/crn'
import type { StoredSubscription } from '#model/subscription'

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
