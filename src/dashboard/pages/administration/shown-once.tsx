import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Button } from '#dashboard/parts/button'
import { Copy } from '#dashboard/parts/copy'
import { Section } from '#dashboard/parts/page'
import { useFilledIn } from '#dashboard/parts/unsaved'

/**
 * A secret that nobody can be shown again. It stands in the page until it is put away by hand: a dialog would be gone with
 * a press beside it.
 */
export function ShownOnce({
  title,
  secret,
  label,
  onPutAway,
  children,
}: {
  readonly title: string
  readonly secret: string
  /** What copying it is called. */
  readonly label: string
  readonly onPutAway: () => void
  /** Whom it is for, and what he does with it. */
  readonly children: ComponentChildren
}) {
  const frame = useRef<HTMLDivElement>(null)
  useFilledIn(true)
  useEffect(() => {
    frame.current?.focus()
    frame.current?.scrollIntoView({ block: 'nearest' })
  }, [secret])
  return (
    <div ref={frame} class="shown-once" tabIndex={-1}>
      <Section title={title}>
        <div class="command">
          <pre>
            <code>{secret}</code>
          </pre>
          <Copy text={secret} label={label} />
        </div>
        <div class="prose">{children}</div>
        <p>
          <strong>It is shown this once.</strong> <Button onPress={onPutAway}>I have it</Button>
        </p>
      </Section>
    </div>
  )
}
