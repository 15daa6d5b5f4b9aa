import { Page } from '#dashboard/parts/page'

export default function FunctionPage() {
  return <Page title="Function">{null}</Page>
}
