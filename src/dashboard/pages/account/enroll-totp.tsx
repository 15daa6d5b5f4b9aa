import { useState } from 'preact/hooks'
import { keepingCodes } from '#dashboard/pages/sign-in/enroll-form'
import { OneTimeCode } from '#dashboard/pages/sign-in/one-time-code'
import { TotpSecret } from '#dashboard/pages/sign-in/totp-secret'
import { TextField } from '#dashboard/parts/fields'
import { Form } from '#dashboard/parts/form'
import { client } from '#dashboard/session'

interface Enrolled {
  readonly secret: string
  readonly otpauthUri: string
}

/** The password, then a secret for the app, then its first code; then codes to recover with are put up. */
export function EnrollTotp({ onDone }: { readonly onDone: () => void }) {
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const [enrolled, setEnrolled] = useState<Enrolled | undefined>()
  if (!enrolled) {
    return (
      <Form
        submit="Go on"
        isDisabled={password === ''}
        onSubmit={async () => setEnrolled(await client.enrollTotp({ password }))}
      >
        <TextField
          label="Your password"
          type="password"
          value={password}
          onInput={setPassword}
          autocomplete="current-password"
          hasFocus
        />
      </Form>
    )
  }
  return (
    <Form
      submit="Put it in force"
      isDisabled={code.length < 6}
      onSubmit={async () => {
        await keepingCodes(client.activateTotp(code, { password }))
        onDone()
      }}
    >
      <TotpSecret {...enrolled} />
      <OneTimeCode value={code} onInput={setCode} label="The code that it shows now" />
    </Form>
  )
}
