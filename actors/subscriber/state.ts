import type { StoredSubscription } from '#model/subscription'
import type { RecordFormat } from '#runtime/actor'

/** Somebody who is subscribed to something. Nothing of it is there once nothing is. */
export interface SubscriberState {
  readonly tenant: string
  readonly id: string
  /** In the order in which they were made. */
  subscriptions: readonly StoredSubscription[]
  mail: MailState
}

/** How far he has heard. Times are Unix ms. */
export interface MailState {
  /** By subscription: the last request of its function that was sent, told in a digest or passed over. */
  readonly cursors: Readonly<Record<string, number>>
  /** The hour that his mails are counted in: from the first one behind the hour before. */
  readonly hour: { readonly from: number; readonly count: number }
  /** By function: requests that were counted and never kept, for the next digest. */
  readonly missed: Readonly<Record<string, number>>
  /** The next mail failed so often; null: not yet. */
  readonly retry: { readonly attempts: number; readonly nextAt: number } | null
  /** How often in a row his address refused. `address`: SHA-256, the first 16 hex digits. Null: never since it took one. */
  readonly refusals: { readonly inRow: number; readonly address: string; readonly restsUntil: number } | null
}

export const subscriptionsRecord = 'subscriptions'
export const mailRecord = 'mail'

export const subscriberFormats: Readonly<Record<string, RecordFormat>> = {
  [subscriptionsRecord]: { name: 'subscriptions', version: 1, upgrades: {} },
  [mailRecord]: { name: 'mail of a subscriber', version: 1, upgrades: {} },
}
