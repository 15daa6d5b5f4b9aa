import { Component, type ComponentChildren, type ComponentType } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { matchRoute, useRouter } from 'wouter-preact'
import { mayOpen } from '#dashboard/navigation'
import { Button } from '#dashboard/parts/button'
import { Empty } from '#dashboard/parts/empty'
import { Link } from '#dashboard/parts/link'
import { Page } from '#dashboard/parts/page'
import { type PageProps, type Route, routes } from '#dashboard/routes'

/** The page that the address names, fetched when it is first wanted. */
export function Outlet({ location }: { readonly location: string }) {
  const { parser } = useRouter()
  const path = location.split('?')[0] || '/'
  for (const route of routes) {
    const [isMatch, found] = matchRoute(parser, route.path, path)
    if (!isMatch) continue
    const params = Object.fromEntries(
      Object.entries(found).flatMap(([name, text]) => (text === undefined ? [] : [[name, decoded(text)]])),
    )
    if (!mayOpen(route)) return <NotYours />
    return <Loaded key={route.path} route={route} params={params} />
  }
  return <NoSuchPage />
}

type Fetched = { readonly page: ComponentType<PageProps> } | { readonly problem: unknown } | undefined

function Loaded({ route, params }: { readonly route: Route; readonly params: PageProps['params'] }) {
  const [fetched, setFetched] = useState<Fetched>(undefined)
  useEffect(() => {
    route.load().then(
      (module) => setFetched({ page: module.default }),
      (problem: unknown) => setFetched({ problem }),
    )
  }, [route])
  const key = JSON.stringify(params)
  useArrival(fetched !== undefined, key)
  if (fetched === undefined) {
    return (
      <p class="loading" role="status">
        <span class="spinner" aria-hidden="true" /> Loading…
      </p>
    )
  }
  if ('problem' in fetched) return <Outdated />
  const { page: PageOf } = fetched
  return (
    <Boundary key={key}>
      <PageOf params={params} />
    </Boundary>
  )
}

let pagesSeen = 0

/** A page that is gone to is begun at its top, and read from its heading; the first one leaves the focus where it is. */
function useArrival(isThere: boolean, key: string): void {
  const before = useRef('')
  useEffect(() => {
    if (!isThere || before.current === key) return
    before.current = key
    pagesSeen += 1
    if (pagesSeen === 1) return
    const content = document.getElementById('content')
    content?.scrollTo(0, 0)
    content?.querySelector<HTMLElement>('h1')?.focus({ preventScroll: true })
  }, [isThere, key])
}

/** The files of a page have other names once the server is another version. */
function Outdated() {
  return (
    <Page title="This page could not be fetched">
      <Empty title="The server cannot be reached, or was updated meanwhile">
        <p>Load the dashboard again: what is stored is not touched by it.</p>
        <Button kind="primary" onPress={() => location.reload()}>
          Load again
        </Button>
      </Empty>
    </Page>
  )
}

function NoSuchPage() {
  return (
    <Page title="No such page">
      <Empty title="There is no page at this address">
        <p>
          Begin at the <Link to="/">fleet</Link>.
        </p>
      </Empty>
    </Page>
  )
}

function NotYours() {
  return (
    <Page title="Not for you">
      <Empty title="None of your roles lets you see this">
        <p>Ask an administrator for a role that does. Your account page says which ones you hold.</p>
        <Link to="/account">Your account</Link>
      </Empty>
    </Page>
  )
}

/** What fails in a page costs that page and nothing else. */
class Boundary extends Component<{ readonly children: ComponentChildren }, { readonly problem?: unknown }> {
  override state: { readonly problem?: unknown } = {}

  override componentDidCatch(problem: unknown): void {
    console.error(problem)
    this.setState({ problem })
  }

  override render() {
    if (this.state.problem === undefined) return this.props.children
    return (
      <Page title="This page failed">
        <Empty title="The dashboard made a mistake">
          <p class="code">{String(this.state.problem)}</p>
          <Button kind="primary" onPress={() => this.setState({ problem: undefined })}>
            Try again
          </Button>
        </Empty>
      </Page>
    )
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
