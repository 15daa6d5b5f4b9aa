import { useEffect, useRef } from 'preact/hooks'
import { parametersIn } from '#dashboard/address'
import { OpenAlarms } from '#dashboard/alarm-counts'
import { Button } from '#dashboard/components/button'
import { Link } from '#dashboard/components/link'
import { Empty, ErrorBoundary, Loading, Page } from '#dashboard/components/page'
import { useCall } from '#dashboard/components/use-call'
import { Icon } from '#dashboard/icons'
import { type PageProps, type Route, routes } from '#dashboard/routes'
import { mayUser, onReconnect } from '#dashboard/session'

export interface NavigationProps {
  /** On a narrow screen the navigation is hidden until it is opened. */
  readonly isOpen: boolean
  readonly location: string
  /** Called when a page is chosen, even the current page. */
  readonly onNavigate: () => void
}

/** Links to the pages that the user may open. */
export function Navigation({ isOpen, location, onNavigate }: NavigationProps) {
  return (
    <nav class={isOpen ? 'shell-nav open' : 'shell-nav'} aria-label="Pages">
      <ul>
        {routes
          .filter((route) => route.name !== undefined && mayOpen(route))
          .map(({ path, name = '' }) => (
            <li key={path}>
              <a
                href={`#${path.replace(/\/:.*/, '')}`}
                aria-current={isWithin(location, path) ? 'page' : undefined}
                onClick={onNavigate}
              >
                <Icon name={name.toLowerCase()} />
                {name}
                {path === '/alarms' && <OpenAlarms />}
              </a>
            </li>
          ))}
      </ul>
    </nav>
  )
}

function mayOpen({ needs = [] }: Route): boolean {
  const wanted = typeof needs === 'string' ? [needs] : needs
  if (wanted.length === 0) return true
  return wanted.some((each) => (typeof each === 'string' ? mayUser(each, 'read') : mayUser(...each)))
}

/** A device belongs to the fleet; other pages belong to the entry that their path begins with. */
function isWithin(location: string, path: string): boolean {
  const at = location.split('?')[0] ?? ''
  const first = `/${path.split('/')[1]}`
  if (first === '/') return at === '/' || at.startsWith('/devices/')
  return at === first || at.startsWith(`${first}/`)
}

/** The page of the address, loaded when it is first opened. */
export function Outlet({ location }: { readonly location: string }) {
  const path = location.split('?')[0] || '/'
  for (const route of routes) {
    const params = parametersIn(path, route.path)
    if (!params) continue
    if (!mayOpen(route)) return <AccessDenied />
    return <LazyPage key={route.path} route={route} params={params} />
  }
  return <PageNotFound />
}

function LazyPage({ route, params }: { readonly route: Route; readonly params: PageProps['params'] }) {
  const { value: page, problem } = useCall(route.load, [])
  const key = JSON.stringify(params)
  useNavigationFocus(page !== undefined || problem !== undefined, key)
  if (problem !== undefined) return <LoadFailure />
  if (!page) return <Loading />
  const { default: PageComponent } = page
  return (
    <ErrorBoundary key={key}>
      <PageComponent params={params} />
    </ErrorBoundary>
  )
}

let pageCount = 0

/**
 * After navigation, scrolls to the top and moves the focus to the heading; the first page leaves the focus where it is.
 */
function useNavigationFocus(isLoaded: boolean, key: string): void {
  const before = useRef('')
  useEffect(() => {
    if (!isLoaded || before.current === key) return
    before.current = key
    pageCount += 1
    if (pageCount === 1) return
    const content = document.getElementById('content')
    content?.scrollTo(0, 0)
    content?.querySelector<HTMLElement>('h1')?.focus({ preventScroll: true })
  }, [isLoaded, key])
}

/**
 * Shown when the files of a page cannot be loaded: the server cannot be reached, or an update has renamed the files.
 * Browsers do not load a failed module again, so the whole dashboard must be loaded again.
 * https://html.spec.whatwg.org/multipage/webappapis.html#fetch-a-single-module-script
 */
function LoadFailure() {
  useEffect(() => onReconnect(() => location.reload()), [])
  return (
    <Page title="This page could not be loaded">
      <Empty title="The server cannot be reached, or was updated">
        <p>Reload the dashboard. Stored data is not affected.</p>
        <Button kind="primary" onPress={() => location.reload()}>
          Reload
        </Button>
      </Empty>
    </Page>
  )
}

function PageNotFound() {
  return (
    <Page title="Page not found">
      <Empty title="There is no page at this address">
        <p>
          Go to the <Link to="/">fleet</Link>.
        </p>
      </Empty>
    </Page>
  )
}

function AccessDenied() {
  return (
    <Page title="Access denied">
      <Empty title="Your roles do not permit this page">
        <p>Ask an administrator for a role that does. Your account page lists your roles.</p>
        <Link to="/account">Your account</Link>
      </Empty>
    </Page>
  )
}
