import { startAuthentication } from '@simplewebauthn/browser'
import { useState } from 'preact/hooks'
import type { FactorMethod } from '#client/client'
import { Button } from '#dashboard/components/button'
import { TextField, useField } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { OneTimeCode } from '#dashboard/pages/sign-in/totp-form'
import { client, currentSession } from '#dashboard/session'

const titles: Readonly<Record<FactorMethod, string>> = {
  totp: 'With a code from the app',
  webauthn: 'With a passkey',
  recovery: 'With a recovery code',
}

/** Completes a sign-in with one of the user's factors. */
export function FactorForm() {
  const methods = currentSession.value.methods ?? []
  const [chosen, setChosen] = useState<FactorMethod | undefined>(methods[0])
  return (
    <>
      {chosen === 'totp' && <TotpFactor />}
      {chosen === 'webauthn' && (
        <Button kind="primary" onPress={authenticateByPasskey}>
          Use passkey
        </Button>
      )}
      {chosen === 'recovery' && <RecoveryFactor />}
      <div class="actions">
        {methods
          .filter((method) => method !== chosen)
          .map((method) => (
            <Button key={method} kind="quiet" onPress={() => setChosen(method)}>
              {titles[method]}
            </Button>
          ))}
        <StartOver />
      </div>
    </>
  )
}

/** Cancels the pending sign-in. */
export function StartOver() {
  return (
    <Button kind="quiet" onPress={() => client.signOut()}>
      Start over
    </Button>
  )
}

function TotpFactor() {
  const code = useField('')
  return (
    <Form
      submit="Sign in"
      isDisabled={code.value.length < 6}
      onSubmit={() => client.secondFactor({ code: code.value })}
    >
      <OneTimeCode {...code} />
    </Form>
  )
}

function RecoveryFactor() {
  const recovery = useField('')
  const code = recovery.value.trim()
  return (
    <Form submit="Sign in" isDisabled={code === ''} onSubmit={() => client.secondFactor({ recovery: code })}>
      <TextField label="Recovery code" hint="Each code works once." {...recovery} autocomplete="off" isCode hasFocus />
    </Form>
  )
}

async function authenticateByPasskey(): Promise<void> {
  const options = await client.startWebauthnAuthentication()
  type Options = Parameters<typeof startAuthentication>[0]['optionsJSON']
  await client.secondFactor({ webauthn: await startAuthentication({ optionsJSON: options as Options }) })
}
