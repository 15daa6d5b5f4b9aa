import { Component, type ComponentChildren } from 'preact'
import { Button } from '#dashboard/components/button'
import { Empty, Page } from '#dashboard/components/page'

/** Catches the failure of its content, so that the rest of the page works, and offers another attempt. */
export class ErrorBoundary extends Component<{ readonly children: ComponentChildren }, { readonly problem?: unknown }> {
  override state: { readonly problem?: unknown } = {}

  override componentDidCatch(problem: unknown): void {
    console.error(problem)
    this.setState({ problem })
  }

  override render() {
    if (this.state.problem === undefined) return this.props.children
    return (
      <Page title="This page failed">
        <Empty title="An error occurred in the dashboard">
          <p class="code">{String(this.state.problem)}</p>
          <Button kind="primary" onPress={() => this.setState({ problem: undefined })}>
            Try again
          </Button>
        </Empty>
      </Page>
    )
  }
}
