import { OpenAlarms } from '#dashboard/alarm-counts'
import { Icon } from '#dashboard/icons'
import { type Route, routes } from '#dashboard/routes'
import { mayUser } from '#dashboard/session'

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
        {routes.filter(isOffered).map((route) => (
          <li key={route.path}>
            <NavigationLink route={route} isCurrent={isWithin(location, route.path)} onNavigate={onNavigate} />
          </li>
        ))}
      </ul>
    </nav>
  )
}

export function mayOpen({ needs = [] }: Route): boolean {
  const wanted = typeof needs === 'string' ? [needs] : needs
  if (wanted.length === 0) return true
  return wanted.some((each) => (typeof each === 'string' ? mayUser(each, 'read') : mayUser(...each)))
}

function isOffered(route: Route): boolean {
  return route.name !== undefined && mayOpen(route)
}

interface NavigationLinkProps extends Pick<NavigationProps, 'onNavigate'> {
  readonly route: Route
  readonly isCurrent: boolean
}

function NavigationLink({ route, isCurrent, onNavigate }: NavigationLinkProps) {
  return (
    <a href={`#${route.path.replace(/\/:.*/, '')}`} aria-current={isCurrent ? 'page' : undefined} onClick={onNavigate}>
      <Icon name={route.name?.toLowerCase() ?? ''} />
      {route.name}
      {route.path === '/alarms' && <OpenAlarms />}
    </a>
  )
}

/** A device belongs to the fleet; other pages belong to the entry that their path begins with. */
function isWithin(location: string, path: string): boolean {
  const at = location.split('?')[0] ?? ''
  const first = `/${path.split('/')[1]}`
  if (first === '/') return at === '/' || at.startsWith('/devices/')
  return at === first || at.startsWith(`${first}/`)
}
