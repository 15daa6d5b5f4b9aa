import { useState } from 'preact/hooks'
import { keepingCodes, registerKey } from '#dashboard/pages/sign-in/enroll-form'
import { OneTimeCode } from '#dashboard/pages/sign-in/one-time-code'
import { TotpSecret } from '#dashboard/pages/sign-in/totp-secret'
import { DialogButton } from '#dashboard/parts/dialog'
import { TextField } from '#dashboard/parts/fields'
import { Form } from '#dashboard/parts/form'
import { CallResult, Section } from '#dashboard/parts/page'
import { Time } from '#dashboard/parts/time'
import { notify } from '#dashboard/parts/toasts'
import { useCall } from '#dashboard/parts/use-call'
import { client } from '#dashboard/session'

/** The user's second factors. Each change is confirmed with the password, and ends the other sessions. */
export function SecondFactors() {
  const keys = useCall(() => client.call('GET /auth/2fa/webauthn/credentials'), [])
  const own = useCall(() => client.call('GET /iam/me'), [])
  const hasTotp = own.value?.twoFactor?.includes('totp') ?? false
  const done = (close: () => void, text: string) => {
    close()
    notify(text)
    keys.again()
    own.again()
  }
  return (
    <Section title="Second factors">
      <ul class="factors">
        <li>
          <span>
            App for one-time codes
            <br />
            <small class="hint">
              {hasTotp ? 'Active. A new setup replaces the app and the recovery codes.' : own.value && 'Not active.'}
            </small>
          </span>
          <DialogButton button="Set up…" title="One-time codes">
            {(close) => <EnrollTotp onCancel={close} onDone={() => done(close, 'One-time codes are active')} />}
          </DialogButton>
          {hasTotp && (
            <DialogButton button="Remove…" kind="danger" title="Remove one-time codes?">
              {(close) => (
                <ConfirmFactor
                  submit="Remove"
                  kind="danger"
                  onCancel={close}
                  onConfirm={async (confirmation) => {
                    await client.call('DELETE /auth/2fa/totp', { body: confirmation })
                    done(close, 'One-time codes were removed')
                  }}
                />
              )}
            </DialogButton>
          )}
        </li>
        <CallResult called={keys}>
          {(list) =>
            list.map(({ id, name, lastUsedAt }) => (
              <li key={id}>
                <span>
                  {name}
                  <br />
                  <small class="hint">
                    Last used <Time at={lastUsedAt} />
                  </small>
                </span>
                <DialogButton button="Remove…" kind="danger" label={`Remove ${name}`} title="Remove this key?">
                  {(close) => (
                    <ConfirmFactor
                      submit="Remove"
                      kind="danger"
                      onCancel={close}
                      onConfirm={async (confirmation) => {
                        await client.call('DELETE /auth/2fa/webauthn/credentials/:id', {
                          parameters: { id },
                          body: confirmation,
                        })
                        done(close, 'The key was removed')
                      }}
                    />
                  )}
                </DialogButton>
              </li>
            ))
          }
        </CallResult>
        <li>
          <span>Key, phone or this device (WebAuthn)</span>
          <DialogButton button="Add…" title="Add a key">
            {(close) => (
              <ConfirmFactor
                submit="Continue"
                onCancel={close}
                hasName
                onConfirm={async ({ name, ...confirmation }) => {
                  await registerKey({ ...confirmation, name: name || 'Key' })
                  done(close, 'The key was added')
                }}
              />
            )}
          </DialogButton>
        </li>
      </ul>
    </Section>
  )
}

/** Asks for the password, shows the secret for the app, and asks for the first code; then shows recovery codes. */
function EnrollTotp({ onDone, onCancel }: { readonly onDone: () => void; readonly onCancel: () => void }) {
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const [enrolled, setEnrolled] = useState<Awaited<ReturnType<typeof client.enrollTotp>>>()
  if (!enrolled) {
    return (
      <Form
        submit="Continue"
        onCancel={onCancel}
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
      submit="Activate"
      isDisabled={code.length < 6}
      onSubmit={async () => {
        await keepingCodes(client.activateTotp(code, { password }))
        onDone()
      }}
    >
      <TotpSecret {...enrolled} />
      <OneTimeCode value={code} onInput={setCode} label="The code in the app" />
    </Form>
  )
}

interface ConfirmFactorProps {
  readonly submit: string
  readonly kind?: 'primary' | 'danger' | undefined
  readonly onConfirm: (confirmation: { readonly password: string; readonly name?: string }) => Promise<void>
  readonly onCancel: () => void
  /** Also asks for a name of the new factor. */
  readonly hasName?: boolean | undefined
}

/** Confirms a change of second factors with the password. Contract 2. */
function ConfirmFactor({ submit, kind, onConfirm, onCancel, hasName }: ConfirmFactorProps) {
  const [password, setPassword] = useState('')
  const [name, setName] = useState('')
  return (
    <Form
      submit={submit}
      kind={kind}
      onCancel={onCancel}
      isDisabled={password === ''}
      onSubmit={() => onConfirm(hasName ? { password, name: name.trim() } : { password })}
    >
      {hasName && (
        <TextField
          label="Name"
          hint="For example: key ring, phone"
          value={name}
          onInput={setName}
          maxLength={64}
          autocomplete="off"
        />
      )}
      <TextField
        label="Your password"
        hint="Your other sessions end."
        type="password"
        value={password}
        onInput={setPassword}
        autocomplete="current-password"
        hasFocus
      />
    </Form>
  )
}
