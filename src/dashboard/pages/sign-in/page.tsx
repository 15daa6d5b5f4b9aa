import { Page } from '#dashboard/parts/page'

export default function SignInPage() {
  return <Page title="Sign in">{null}</Page>
}
