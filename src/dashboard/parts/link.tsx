import type { ComponentChildren } from 'preact'
import { navigate } from 'wouter-preact/use-hash-location'

export interface LinkProps {
  /** A path of the table of routes: `/devices/PUMP-7`, its parts percent-encoded (`pathOf`). */
  readonly to: string
  readonly children: ComponentChildren
  readonly class?: string | undefined
  /** Not a stop for the Tab key: what it is in is one, and does the same. */
  readonly isSkipped?: boolean | undefined
}

export function Link({ to, children, class: name, isSkipped }: LinkProps) {
  return (
    <a href={`#${to}`} class={name} tabIndex={isSkipped ? -1 : undefined}>
      {children}
    </a>
  )
}

export function go(to: string, options?: { readonly replace?: boolean }): void {
  navigate(to, options)
}

/** `pathOf('devices', 'A/B')` is `/devices/A%2FB`. */
export function pathOf(...parts: readonly string[]): string {
  return `/${parts.map(encodeURIComponent).join('/')}`
}
