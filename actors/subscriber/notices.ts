/** Notices about subscribers. Called as effects: after the commit, with the committed state. */
export interface SubscriberNotices {
  subscribed(tenant: string, fn: string): void
  unsubscribed(tenant: string, fn: string, subscriber: string): void
}
