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
