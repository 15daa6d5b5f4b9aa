/** What subscribers say. Called as effects: after the commit, with what that commit holds. */
export interface SubscriberNotices {
  subscribed(tenant: string, fn: string): void
  unsubscribed(tenant: string, fn: string, subscriber: string): void
}
