import type { ComponentChildren } from 'preact'

export interface LinkProps {
  /** A path of the routes: `/devices/PUMP-7`, with percent-encoded parts (`pathOf`). */
  readonly to: string
  readonly children: ComponentChildren
  readonly class?: string | undefined
  /** Whether the link is left out of the tab order, because its container has the same action. */
  readonly isSkipped?: boolean | undefined
}

export function Link({ to, children, class: name, isSkipped }: LinkProps) {
  return (
    <a href={`#${to}`} class={name} tabIndex={isSkipped ? -1 : undefined}>
      {children}
    </a>
  )
}

export function navigateTo(to: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  history[replace ? 'replaceState' : 'pushState'](null, '', `#${to}`)
  dispatchEvent(new Event('hashchange'))
}

/** `pathOf('devices', 'A/B')` is `/devices/A%2FB`. */
export function pathOf(...parts: readonly string[]): string {
  return `/${parts.map(encodeURIComponent).join('/')}`
}
