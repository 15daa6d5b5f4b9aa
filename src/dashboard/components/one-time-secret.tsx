import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Button } from '#dashboard/components/button'
import { Command } from '#dashboard/components/copy-button'
import { Section } from '#dashboard/components/page'
import { useKeptInput } from '#dashboard/components/unsaved-input'

export interface OneTimeSecretProps {
  readonly title: string
  readonly secret: string
  readonly label: string
  readonly onDismiss: () => void
  /** Explains who needs the secret and how to use it. */
  readonly children: ComponentChildren
}

/**
 * A secret that cannot be shown again. It stays on the page until the user confirms it; a dialog could be closed by
 * accident.
 */
export function OneTimeSecret({ title, secret, label, onDismiss, children }: OneTimeSecretProps) {
  const frame = useRef<HTMLDivElement>(null)
  useKeptInput(true)
  useEffect(() => {
    frame.current?.focus()
    frame.current?.scrollIntoView({ block: 'nearest' })
  }, [secret])
  return (
    <div ref={frame} class="one-time-secret" tabIndex={-1}>
      <Section title={title}>
        <Command command={secret} label={label} />
        <div class="prose">{children}</div>
        <p>
          <strong>Shown only once.</strong> <Button onPress={onDismiss}>Done</Button>
        </p>
      </Section>
    </div>
  )
}
