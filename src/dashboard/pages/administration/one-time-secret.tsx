import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { Answer } from '#client/client'
import { serverUrl } from '#dashboard/address'
import { Button } from '#dashboard/parts/button'
import { CopyButton } from '#dashboard/parts/copy'
import { Command } from '#dashboard/parts/empty'
import { pathOf } from '#dashboard/parts/link'
import { Section } from '#dashboard/parts/page'
import { dateTimeText } from '#dashboard/parts/time'
import { useKeptInput } from '#dashboard/parts/unsaved'

/**
 * A secret that cannot be shown again. It stays on the page until the user confirms it; a dialog could be closed by
 * accident.
 */
export function OneTimeSecret({
  title,
  secret,
  label,
  onDismiss,
  children,
}: {
  readonly title: string
  readonly secret: string
  readonly label: string
  readonly onDismiss: () => void
  /** Explains who needs it and how to use it. */
  readonly children: ComponentChildren
}) {
  const frame = useRef<HTMLDivElement>(null)
  useKeptInput(true)
  useEffect(() => {
    frame.current?.focus()
    frame.current?.scrollIntoView({ block: 'nearest' })
  }, [secret])
  return (
    <div ref={frame} class="one-time-secret" tabIndex={-1}>
      <Section title={title}>
        <div class="command">
          <pre>
            <code>{secret}</code>
          </pre>
          <CopyButton text={secret} label={label} />
        </div>
        <div class="prose">{children}</div>
        <p>
          <strong>Shown only once.</strong> <Button onPress={onDismiss}>Done</Button>
        </p>
      </Section>
    </div>
  )
}

/** The answer to an invitation or a new code: shown once. */
export type Invitation = Answer<'POST /iam/users'>

/** The sign-up address with name and code. The part after `#` reaches no server and no log. */
function signUpAddress({ name, code }: Invitation): string {
  return `${serverUrl()}/#${pathOf('sign-up', name, code)}`
}

export function InvitationCode({
  invitation,
  onDismiss,
}: {
  readonly invitation: Invitation
  readonly onDismiss: () => void
}) {
  const { name, code, expiresAt, mailed } = invitation
  return (
    <OneTimeSecret title={`The code for ${name}`} secret={code} label="Copy the code" onDismiss={onDismiss}>
      {mailed && <p>A mail with a link was sent to {name}.</p>}
      {mailed === false && <p>The mail with a link was not sent: the mail server refused it.</p>}
      <p>
        {name} can choose a password with it until {dateTimeText(expiresAt)}.{' '}
        {mailed ? 'The' : `Send it privately to ${name}. The`} address below includes name and code.
      </p>
      <Command command={signUpAddress(invitation)} />
    </OneTimeSecret>
  )
}
