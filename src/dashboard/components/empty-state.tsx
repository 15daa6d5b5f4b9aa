import type { ComponentChildren } from 'preact'
import { CopyButton } from '#dashboard/components/copy-button'

/** A shell command with a copy button. */
export function Command({ command }: { readonly command: string }) {
  return (
    <div class="command">
      <pre>
        <code>{command}</code>
      </pre>
      <CopyButton text={command} label="Copy the command" />
    </div>
  )
}

export interface EmptyProps {
  readonly title: string
  readonly children?: ComponentChildren
  readonly command?: string | undefined
}

/** Shown in place of an empty list: explains the next steps. */
export function Empty({ title, children, command }: EmptyProps) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      <div class="prose">{children}</div>
      {command !== undefined && <Command command={command} />}
    </div>
  )
}

/** Shown if the connection was closed before anything was read. */
export function NotLoaded() {
  return (
    <Empty title="Nothing loaded">
      <p>The connection was closed before the data was loaded. Connect again above.</p>
    </Empty>
  )
}
