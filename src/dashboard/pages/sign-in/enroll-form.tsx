import { startRegistration } from '@simplewebauthn/browser'
import { useState } from 'preact/hooks'
import { BeginAgain } from '#dashboard/pages/sign-in/factor-form'
import { OneTimeCode } from '#dashboard/pages/sign-in/one-time-code'
import { freshCodes } from '#dashboard/pages/sign-in/recovery-codes'
import { TotpSecret } from '#dashboard/pages/sign-in/totp-secret'
import { Button } from '#dashboard/parts/button'
import { Form } from '#dashboard/parts/form'
import { CallResult } from '#dashboard/parts/page'
import { useCall } from '#dashboard/parts/use-call'
import { client } from '#dashboard/session'

/** Sets up a second factor during sign-in, if the tenant requires one and the user has none. */
export function EnrollForm() {
  const [way, setWay] = useState<'totp' | 'webauthn' | undefined>()
  return (
    <>
      {way === undefined && (
        <>
          <p>Your tenant requires a second factor. Set it up once.</p>
          <Button kind="primary" onPress={() => setWay('totp')}>
            With an app for one-time codes
          </Button>
          <Button onPress={() => registerKey()}>With a key or this device</Button>
        </>
      )}
      {way === 'totp' && <EnrollTotp />}
      <div class="actions">
        {way !== undefined && (
          <Button kind="quiet" onPress={() => setWay(undefined)}>
            Another way
          </Button>
        )}
        <BeginAgain />
      </div>
    </>
  )
}

function EnrollTotp() {
  const enrolled = useCall(() => client.enrollTotp(), [])
  const [code, setCode] = useState('')
  const activate = async () => {
    await keepingCodes(client.activateTotp(code))
  }
  return (
    <CallResult called={enrolled}>
      {({ secret, otpauthUri }) => (
        <>
          <TotpSecret secret={secret} otpauthUri={otpauthUri} />
          <Form submit="Sign in" isDisabled={code.length < 6} onSubmit={activate}>
            <OneTimeCode value={code} onInput={setCode} label="The code in the app" />
          </Form>
        </>
      )}
    </CallResult>
  )
}

/** Shows the codes first, because the session may begin before the user has seen them. */
export async function keepingCodes(
  made: Promise<{ readonly recoveryCodes?: readonly string[] | undefined }>,
): Promise<void> {
  const { recoveryCodes } = await made
  if (recoveryCodes && recoveryCodes.length > 0) freshCodes.value = recoveryCodes
}

/** Asks the browser for a key; `name` is a name for the user. */
export async function registerKey(
  more: { readonly name?: string; readonly password?: string; readonly code?: string } = {},
): Promise<void> {
  const { name, ...confirmation } = more
  const options = await client.startWebauthnRegistration(confirmation)
  type Options = Parameters<typeof startRegistration>[0]['optionsJSON']
  const response = await startRegistration({ optionsJSON: options as Options })
  await keepingCodes(client.finishWebauthnRegistration(response, name === undefined ? {} : { name }))
}
