import { Icon } from '#dashboard/icons'
import { type Route, routes } from '#dashboard/routes'
import { mayI } from '#dashboard/session'

export interface NavigationProps {
  /** On a narrow screen it is there only while it is open. */
  readonly isOpen: boolean
  readonly location: string
}

/** The pages to go to, of which only those are there that one may read something on. */
export function Navigation({ isOpen, location }: NavigationProps) {
  return (
    <nav class={isOpen ? 'shell-nav open' : 'shell-nav'} aria-label="Pages">
      <ul>
        {routes.filter(isOffered).map((route) => (
          <li key={route.path}>
            <NavigationLink route={route} isHere={isWithin(location, route.path)} />
          </li>
        ))}
      </ul>
    </nav>
  )
}

/** Whether there is something in it for who looks. */
export function mayOpen({ needs = [] }: Route): boolean {
  const all = typeof needs === 'string' ? [needs] : needs
  return all.length === 0 || all.some((resource) => mayI(resource, 'read'))
}

function isOffered(route: Route): boolean {
  return route.name !== undefined && mayOpen(route)
}

function NavigationLink({ route, isHere }: { readonly route: Route; readonly isHere: boolean }) {
  return (
    <a href={`#${route.path.replace(/\/:.*/, '')}`} aria-current={isHere ? 'page' : undefined}>
      <Icon name={route.icon ?? ''} />
      {route.name}
    </a>
  )
}

/** A device belongs to the fleet; everything else to the page that its path begins with. */
function isWithin(location: string, path: string): boolean {
  const at = location.split('?')[0] ?? ''
  const first = `/${path.split('/')[1]}`
  if (first === '/') return at === '/' || at.startsWith('/devices/')
  return at === first || at.startsWith(`${first}/`)
}
