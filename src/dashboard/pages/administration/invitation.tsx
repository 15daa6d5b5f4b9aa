import type { Answer } from '#client/client'
import { ShownOnce } from '#dashboard/pages/administration/shown-once'
import { Copy } from '#dashboard/parts/copy'
import { exactly } from '#dashboard/parts/time'

/** What an invitation, or a fresh code, comes to: shown once. */
export type Invitation = Answer<'POST /iam/users'>

/** What to tell whoever the code is for. */
export function invitationText({ name, code, expiresAt }: Invitation, origin: string): string {
  return `Sign up at ${origin}/#/sign-up with the name ${name} and the code ${code} before ${exactly(expiresAt)}.`
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
        With it {name} chooses a password, until {exactly(expiresAt)}. Send it by a way that only {name} reads.
      </p>
      <p>
        The whole message: <Copy text={invitationText(invitation, location.origin)} label="Copy the message" />
      </p>
    </ShownOnce>
  )
}
