import type { SubscriberCommand } from '#actors/subscriber/commands'
import type { SubscriberState } from '#actors/subscriber/state'
import { parseCrn } from '#model/crn'
import type { ActorAddress } from '#runtime/actor'

/** The subscriptions of one user and their progress. `id`: see `subscriberIdOf`. */
export function subscriberAddress(tenant: string, id: string): ActorAddress<SubscriberState, SubscriberCommand> {
  return { kind: 'subscriber', tenant, id }
}

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
