import type { ComponentChildren } from 'preact'
import { Copy } from '#dashboard/parts/copy'

/** A line for a terminal, to copy. */
export function Command({ command }: { readonly command: string }) {
  return (
    <div class="command">
      <pre>
        <code>{command}</code>
      </pre>
      <Copy text={command} label="Copy the command" />
    </div>
  )
}

export interface EmptyProps {
  /** What is not there. */
  readonly title: string
  /** What to do next. */
  readonly children?: ComponentChildren
  readonly command?: string | undefined
}

/** Stands where there is nothing yet: says what to do next. */
export function Empty({ title, children, command }: EmptyProps) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      <div class="prose">{children}</div>
      {command !== undefined && <Command command={command} />}
    </div>
  )
}

/** Stands where nothing can be said: the connection was closed before anything was read. */
export function NotRead() {
  return (
    <Empty title="Nothing was read yet">
      <p>The connection was closed before. Connect again above.</p>
    </Empty>
  )
}
