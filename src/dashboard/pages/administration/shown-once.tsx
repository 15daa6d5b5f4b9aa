import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { Answer } from '#client/client'
import { serverUrl } from '#dashboard/address'
import { Button } from '#dashboard/parts/button'
import { Copy } from '#dashboard/parts/copy'
import { Command } from '#dashboard/parts/empty'
import { pathOf } from '#dashboard/parts/link'
import { Section } from '#dashboard/parts/page'
import { exactly } from '#dashboard/parts/time'
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

/** What an invitation, or a fresh code, comes to: shown once. */
export type Invitation = Answer<'POST /iam/users'>

/** Where name and code are filled in. What stands behind the `#` reaches no server and no log. */
function signUpAddress({ name, code }: Invitation): string {
  return `${serverUrl()}/#${pathOf('sign-up', name, code)}`
}

export function InvitationShown({
  invitation,
  onPutAway,
}: {
  readonly invitation: Invitation
  readonly onPutAway: () => void
}) {
  const { name, code, expiresAt } = invitation
  return (
    <ShownOnce title={`The code for ${name}`} secret={code} label="Copy the code" onPutAway={onPutAway}>
      <p>
        With it {name} chooses a password, until {exactly(expiresAt)}. Send it by a way that only {name} reads; the
        address below has name and code filled in.
      </p>
      <Command command={signUpAddress(invitation)} />
    </ShownOnce>
  )
}
