import type { DeliveryHead } from '#model/delivery'

/** Notices about mail requests. Called as effects: after the commit, with the committed state. */
export interface DeliveryNotices {
  requested(tenant: string, fn: string, head: DeliveryHead): void
}

/** Notices of tenants about the topics of subscriptions, called like `DeliveryNotices`. */
export interface TopicNotices {
  /** The function was deleted; its subscriptions have to end. */
  topicEnded(tenant: string, fn: string): void
}
