import { Page } from '#dashboard/parts/page'

export default function DevicePage() {
  return <Page title="Device">{null}</Page>
}
