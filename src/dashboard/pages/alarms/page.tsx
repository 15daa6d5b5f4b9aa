import { Page } from '#dashboard/parts/page'

export default function AlarmsPage() {
  return <Page title="Alarms">{null}</Page>
}
