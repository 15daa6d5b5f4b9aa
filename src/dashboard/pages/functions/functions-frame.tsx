import type { ComponentChildren } from 'preact'
import { Link } from '#dashboard/parts/link'
import { Page } from '#dashboard/parts/page'
import '#dashboard/pages/functions/functions.css'

const places = [
  { to: '/functions', title: 'Functions' },
  { to: '/functions/templates', title: 'Templates' },
  { to: '/functions/groups', title: 'Groups' },
] as const

export interface FunctionsFrameProps {
  readonly here: (typeof places)[number]['title']
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}

/** Three related lists: functions, templates and groups. */
export function FunctionsFrame({ here, actions, children }: FunctionsFrameProps) {
  return (
    <Page title={here} actions={actions}>
      <nav class="places" aria-label="Functions, templates and groups">
        {places.map(({ to, title }) => (
          <a key={to} href={`#${to}`} aria-current={title === here ? 'page' : undefined}>
            {title}
          </a>
        ))}
      </nav>
      {children}
    </Page>
  )
}

export function BackTo({ place }: { readonly place: (typeof places)[number]['title'] }) {
  const { to } = places.find(({ title }) => title === place) ?? places[0]
  return <Link to={to}>All {place.toLowerCase()}</Link>
}
