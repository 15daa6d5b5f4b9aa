import type { LiveMap } from '#client/live-map'
import { MapList } from '#client/map-list'
import type { Subscription } from '#client/state'
import type { EventOf, StreamEvent } from '#model/event'

/** What the caller is subscribed to, by `GET /notifications/subscribe`. §2.6 */
export class SubscriptionList extends MapList<Subscription> {
  readonly route = 'GET /notifications/subscribe'
  readonly types = ['NOTIFICATION_SUBSCRIBE', 'NOTIFICATION_SUBSCRIPTION_UPDATE', 'NOTIFICATION_UNSUBSCRIBE'] as const

  constructor(subscriptions: LiveMap<string, Subscription>) {
    super(subscriptions)
  }

  keyOf(event: StreamEvent): string {
    return (event as EventOf<'NOTIFICATION_UNSUBSCRIBE'>).resourceIdentifier
  }

  apply(event: StreamEvent): void {
    if (event.type === 'NOTIFICATION_UNSUBSCRIBE') this.map.delete(this.keyOf(event))
    else {
      const { payload } = event as EventOf<'NOTIFICATION_SUBSCRIBE'>
      this.map.set(this.keyOf(event), payload as unknown as Subscription)
    }
  }

  protected keyIn(subscription: Subscription): string {
    return subscription.resourceIdentifier
  }
}
