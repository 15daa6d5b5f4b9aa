import { encode } from 'uqr'
import type { Answer } from '#client/client'
import { Command } from '#dashboard/components/copy-button'
import { TextField, type TextFieldProps, useField } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { showRecoveryCodes } from '#dashboard/pages/sign-in/recovery-codes'
import { client } from '#dashboard/session'

export type TotpSecret = Answer<'POST /auth/2fa/totp/enroll'>

export interface TotpFormProps extends TotpSecret {
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
export function OneTimeCode({ value, onChange }: Pick<TextFieldProps, 'value' | 'onChange'>) {
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
