import { useMemo } from 'preact/hooks'
import type { Item } from '#client/client'
import { NewSubscription } from '#dashboard/pages/notifications/new-subscription'
import { Outbox } from '#dashboard/pages/notifications/outbox'
import { SubscriptionList } from '#dashboard/pages/notifications/subscription-list'
import { Page } from '#dashboard/parts/page'
import { useCall } from '#dashboard/parts/use-call'
import { useObservable } from '#dashboard/parts/use-observable'
import { client, mayI, session } from '#dashboard/session'
import { state } from '#dashboard/state'

export type Fn = Item<'GET /functions'>

/** What mails one gets: one's own subscriptions, live, and for administrators what becomes of all mail. §2.6 */
export default function NotificationsPage() {
  const mayChoose = mayI('functions', 'read')
  const called = useCall(async () => (mayChoose ? client.call('GET /functions') : []), [mayChoose])
  const { subscriptions: live } = state()
  const subscriptions = [...useObservable(live).values()]
  const names = useMemo(
    () => new Map((called.value ?? []).map(({ resourceIdentifier, name }) => [resourceIdentifier, name])),
    [called.value],
  )
  return (
    <Page title="Notifications">
      {session.value.state === 'IAM off' && (
        <p class="notice" role="status">
          Nobody signs in on this server, so nobody has an address: subscriptions are kept, and no mail leaves.
        </p>
      )}
      <SubscriptionList subscriptions={subscriptions} names={names} isRead={live.isComplete} />
      {mayI('notifications', 'create') && <NewSubscription functions={called} subscriptions={subscriptions} />}
      {isAdministrator() && <Outbox />}
    </Page>
  )
}

/** Figures of mail are for holders of this role. Contract 5.7. */
function isAdministrator(): boolean {
  const { state: standing, roles = [] } = session.value
  return standing === 'IAM off' || roles.includes('admin')
}
