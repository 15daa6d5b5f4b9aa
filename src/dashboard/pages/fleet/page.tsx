import { Page } from '#dashboard/parts/page'

export default function FleetPage() {
  return <Page title="Fleet">{null}</Page>
}
