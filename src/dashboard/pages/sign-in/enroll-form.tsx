import { startRegistration } from '@simplewebauthn/browser'
import { useState } from 'preact/hooks'
import { Button } from '#dashboard/components/button'
import { CallResult } from '#dashboard/components/page'
import { useCall } from '#dashboard/components/use-call'
import { StartOver } from '#dashboard/pages/sign-in/factor-form'
import { showRecoveryCodes } from '#dashboard/pages/sign-in/recovery-codes'
import { TotpForm } from '#dashboard/pages/sign-in/totp-form'
import { client } from '#dashboard/session'

/** Sets up a second factor during sign-in, if the tenant requires a second factor and the user has none. */
export function EnrollForm() {
  const [isTotp, setTotp] = useState(false)
  return (
    <>
      {isTotp ? (
        <EnrollTotp />
      ) : (
        <>
          <p>Your tenant requires a second factor. Set it up once.</p>
          <Button kind="primary" onPress={() => setTotp(true)}>
            With an app for one-time codes
          </Button>
          <Button onPress={() => registerPasskey()}>With a passkey</Button>
        </>
      )}
      <div class="actions">
        {isTotp && (
          <Button kind="quiet" onPress={() => setTotp(false)}>
            Choose another factor
          </Button>
        )}
        <StartOver />
      </div>
    </>
  )
}

function EnrollTotp() {
  const enrollment = useCall(() => client.enrollTotp(), [])
  return <CallResult call={enrollment}>{(secret) => <TotpForm {...secret} submit="Sign in" />}</CallResult>
}

/** Asks the browser for a new passkey, and registers it. `name`: how the user recognizes this passkey. */
export async function registerPasskey(
  more: { readonly name?: string; readonly password?: string; readonly code?: string } = {},
): Promise<void> {
  const { name, ...confirmation } = more
  const options = await client.startWebauthnRegistration(confirmation)
  type Options = Parameters<typeof startRegistration>[0]['optionsJSON']
  const response = await startRegistration({ optionsJSON: options as Options })
  await showRecoveryCodes(client.finishWebauthnRegistration(response, name === undefined ? {} : { name }))
}
