import type { Answer } from '#client/client'
import { serverUrl } from '#dashboard/address'
import { ShownOnce } from '#dashboard/pages/administration/shown-once'
import { Command } from '#dashboard/parts/empty'
import { pathOf } from '#dashboard/parts/link'
import { exactly } from '#dashboard/parts/time'

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
