import type { ComponentChildren } from 'preact'
import { Page } from '#dashboard/components/page'
import '#dashboard/pages/functions/functions.css'

const lists = [
  { to: '/functions', title: 'Functions' },
  { to: '/functions/templates', title: 'Templates' },
  { to: '/functions/groups', title: 'Groups' },
] as const

interface FunctionsFrameProps {
  readonly current: (typeof lists)[number]['title']
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}

/** Three related lists: functions, templates and groups. */
export function FunctionsFrame({ current, actions, children }: FunctionsFrameProps) {
  return (
    <Page title={current} actions={actions}>
      <nav class="lists" aria-label="Functions, templates and groups">
        {lists.map(({ to, title }) => (
          <a key={to} href={`#${to}`} aria-current={title === current ? 'page' : undefined}>
            {title}
          </a>
        ))}
      </nav>
      {children}
    </Page>
  )
}
