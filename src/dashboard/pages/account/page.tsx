import { Page } from '#dashboard/parts/page'

export default function AccountPage() {
  return <Page title="Account">{null}</Page>
}
