import { Page } from '#dashboard/parts/page'

export default function NotificationsPage() {
  return <Page title="Notifications">{null}</Page>
}
