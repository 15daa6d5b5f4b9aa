import { startAuthentication, startRegistration } from '@simplewebauthn/browser'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { encode } from 'uqr'
import type { Answer, FactorMethod } from '#client/client'
import { Button } from '#dashboard/components/button'
import { Command, CopyButton } from '#dashboard/components/copy-button'
import { TextField, type TextFieldProps, useField } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { CallResult } from '#dashboard/components/page'
import { useCall } from '#dashboard/components/use-call'
import { observable } from '#dashboard/components/use-observable'
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
      {chosen === 'webauthn' ? (
        <Button kind="primary" onPress={authenticateByPasskey}>
          Use passkey
        </Button>
      ) : (
        chosen && <CodeForm key={chosen} method={chosen} />
      )}
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
function StartOver() {
  return (
    <Button kind="quiet" onPress={() => client.signOut()}>
      Start over
    </Button>
  )
}

function CodeForm({ method }: { readonly method: 'totp' | 'recovery' }) {
  const field = useField('')
  const code = field.value.trim()
  const isTotp = method === 'totp'
  return (
    <Form
      submit="Sign in"
      isDisabled={code.length < (isTotp ? 6 : 1)}
      onSubmit={() => client.secondFactor(isTotp ? { code } : { recovery: code })}
    >
      {isTotp ? (
        <OneTimeCode {...field} />
      ) : (
        <TextField label="Recovery code" hint="Each code works once." {...field} autocomplete="off" isCode hasFocus />
      )}
    </Form>
  )
}

async function authenticateByPasskey(): Promise<void> {
  const options = await client.startWebauthnAuthentication()
  type Options = Parameters<typeof startAuthentication>[0]['optionsJSON']
  await client.secondFactor({ webauthn: await startAuthentication({ optionsJSON: options as Options }) })
}

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

export type TotpSecret = Answer<'POST /auth/2fa/totp/enroll'>

interface TotpFormProps extends TotpSecret {
  readonly submit: string
  /** Absent during sign-in, which needs no further confirmation. */
  readonly password?: string
  readonly onDone?: () => void
}

/** Shows a new secret, as a QR code and as text, and asks for the first code of the app. */
export function TotpForm({ secret, otpauthUri, submit, password, onDone }: TotpFormProps) {
  const code = useField('')
  const activate = async () => {
    await showRecoveryCodes(client.activateTotp(code.value, password === undefined ? {} : { password }))
    onDone?.()
  }
  return (
    <Form submit={submit} isDisabled={code.value.length < 6} onSubmit={activate} onCancel={false}>
      <p>Scan this with an app for one-time codes, or enter the secret there.</p>
      <QrCode text={otpauthUri} />
      <Command command={secret} shown={secret.replace(/(.{4})(?=.)/g, '$1 ')} label="Copy the secret" />
      <p>
        On this device: <a href={otpauthUri}>open the app</a>
      </p>
      <OneTimeCode {...code} />
    </Form>
  )
}

/** Six digits from an app; spaces are ignored. */
function OneTimeCode({ value, onChange }: Pick<TextFieldProps, 'value' | 'onChange'>) {
  return (
    <TextField
      label="Code from the app"
      hint="Six digits; a code works once, for half a minute."
      value={value}
      onChange={(text) => onChange(text.replace(/\D/g, '').slice(0, 6))}
      autocomplete="one-time-code"
      inputMode="numeric"
      isCode
      hasFocus
    />
  )
}

const border = 3

/** Always dark on light: some cameras cannot read inverted codes. */
function QrCode({ text }: { readonly text: string }) {
  const { data, size } = encode(text, { ecc: 'M', border })
  const path = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : []))).join('')
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label="QR code of the secret below">
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" shape-rendering="crispEdges" />
    </svg>
  )
}

/** New recovery codes, shown once; the page shows nothing more until the user confirms them. */
export const newRecoveryCodes = observable<readonly string[] | undefined>(undefined)

/** Shows the codes of this answer, before a session begins that would hide them. */
async function showRecoveryCodes(
  answer: Promise<{ readonly recoveryCodes?: readonly string[] | undefined }>,
): Promise<void> {
  const { recoveryCodes } = await answer
  if (recoveryCodes && recoveryCodes.length > 0) newRecoveryCodes.set(recoveryCodes)
}

export function RecoveryCodes({ codes }: { readonly codes: readonly string[] }) {
  const text = codes.join('\n')
  const file = useMemo(() => URL.createObjectURL(new Blob([`${text}\n`])), [text])
  useEffect(() => () => URL.revokeObjectURL(file), [file])
  return (
    <main class="sign-in" id="content">
      <div class="section">
        <div class="stack">
          <h1 tabIndex={-1}>Recovery codes</h1>
          <p>
            Each code replaces a lost second factor once. They are shown only once: print them, or store them in your
            password manager. Earlier codes are no longer valid.
          </p>
          <ul class="codes">
            {codes.map((code) => (
              <li key={code}>
                <code>{code}</code>
              </li>
            ))}
          </ul>
          <div class="actions">
            <CopyButton text={text} label="Copy all" />
            <a class="button" download="recovery-codes.txt" href={file}>
              Download
            </a>
          </div>
          <Button kind="primary" onPress={() => newRecoveryCodes.set(undefined)}>
            I have saved them
          </Button>
        </div>
      </div>
    </main>
  )
}
