import { Page } from '#dashboard/parts/page'

export default function AlarmPage() {
  return <Page title="Alarm">{null}</Page>
}
