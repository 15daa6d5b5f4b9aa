import type { Subscribed, SubscriptionUpdated, Unsubscribed } from '#model/entry'
import { subscription } from '#test/store/sample-records/subscription'

/** The resource names of two users. */
export const ann = 'crn#user:2Vb7qYx9Kd'
export const bob = 'crn#user:7Lf2wZs6Dy'

/** The entry of a new subscription of this user. */
export function subscribed(user: string): Subscribed {
  return { kind: 'subscribed', at: 5, user, stored: { ...subscription, createdBy: user } }
}

/** The entry of another locale of the subscription of this user. */
export function localeSet(user: string): SubscriptionUpdated {
  return { kind: 'subscription_updated', at: 6, user, stored: { ...subscription, createdBy: user, locale: 'de' } }
}

export function unsubscribed(user: string): Unsubscribed {
  return { kind: 'unsubscribed', at: 7, user, subscription: subscription.id }
}
