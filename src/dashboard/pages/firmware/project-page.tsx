import { Page } from '#dashboard/parts/page'

export default function ProjectPage() {
  return <Page title="Project">{null}</Page>
}
