import type { SubscriberNotices } from '#actors/subscriber/notices'
import type { DeliveryHead } from '#model/delivery'

/** What the requests of a function say. Called as effects: after the commit, with what that commit holds. */
export interface DeliveryNotices {
  requested(tenant: string, fn: string, head: DeliveryHead): void
}

/** What tenants say of what people are subscribed to, in the same way. */
export interface TopicNotices {
  /** The function is no more: its subscriptions are to end. */
  topicEnded(tenant: string, fn: string): void
}

/** Where nobody ends them. */
export const unheardTopics: TopicNotices = { topicEnded() {} }

/** What whoever delivers hears. */
export interface DeliveryListener extends DeliveryNotices, SubscriberNotices, TopicNotices {}

/** Notices for who is made later than the actors. Before `listen` nobody is told: what waits is then read from the store. */
export class LateDeliveryNotices implements DeliveryListener {
  #listener: DeliveryListener | undefined

  listen(listener: DeliveryListener): void {
    this.#listener = listener
  }

  requested(tenant: string, fn: string, head: DeliveryHead): void {
    this.#listener?.requested(tenant, fn, head)
  }

  subscribed(tenant: string, fn: string): void {
    this.#listener?.subscribed(tenant, fn)
  }

  unsubscribed(tenant: string, fn: string, subscriber: string): void {
    this.#listener?.unsubscribed(tenant, fn, subscriber)
  }

  topicEnded(tenant: string, fn: string): void {
    this.#listener?.topicEnded(tenant, fn)
  }
}
