import { Page } from '#dashboard/parts/page'

export default function AdministrationPage() {
  return <Page title="Administration">{null}</Page>
}
