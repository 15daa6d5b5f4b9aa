import type { Answer } from '#client/client'
import { serverUrl } from '#dashboard/address'
import { Command } from '#dashboard/components/empty-state'
import { pathOf } from '#dashboard/components/link'
import { OneTimeSecret } from '#dashboard/components/one-time-secret'
import { dateTimeText } from '#dashboard/components/time'

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
