import { Page } from '#dashboard/parts/page'

export default function FunctionsPage() {
  return <Page title="Functions">{null}</Page>
}
