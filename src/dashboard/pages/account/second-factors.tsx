import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { DialogButton } from '#dashboard/components/dialog'
import { PasswordField, TextField } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { CallResult, Section } from '#dashboard/components/page'
import { Time } from '#dashboard/components/time'
import { notify } from '#dashboard/components/toasts'
import { useCall } from '#dashboard/components/use-call'
import { registerKey } from '#dashboard/pages/sign-in/enroll-form'
import { TotpForm, type TotpSecret } from '#dashboard/pages/sign-in/totp-form'
import { client } from '#dashboard/session'

/** The user's second factors. Each change is confirmed with the password, and ends the other sessions. */
export function SecondFactors() {
  const keys = useCall(() => client.call('GET /auth/2fa/webauthn/credentials'), [])
  const account = useCall(() => client.call('GET /iam/me'), [])
  const hasTotp = account.value?.twoFactor?.includes('totp') ?? false
  const finish = (close: () => void, text: string) => {
    close()
    notify(text)
    keys.refresh()
    account.refresh()
  }
  return (
    <Section title="Second factors">
      <ul class="factors">
        <li>
          <FactorName
            name="App for one-time codes"
            hint={
              hasTotp ? 'Active. A new setup replaces the app and the recovery codes.' : account.value && 'Not active.'
            }
          />
          <DialogButton button="Set up…" title="One-time codes">
            {(close) => <EnrollTotp onCancel={close} onDone={() => finish(close, 'One-time codes are active')} />}
          </DialogButton>
          {hasTotp && (
            <DialogButton button="Remove…" kind="danger" title="Remove one-time codes?">
              {(close) => (
                <PasswordConfirmation
                  submit="Remove"
                  kind="danger"
                  onCancel={close}
                  onConfirm={async (password) => {
                    await client.call('DELETE /auth/2fa/totp', { body: { password } })
                    finish(close, 'One-time codes were removed')
                  }}
                />
              )}
            </DialogButton>
          )}
        </li>
        <CallResult call={keys}>
          {(list) =>
            list.map(({ id, name, lastUsedAt }) => (
              <li key={id}>
                <FactorName
                  name={name}
                  hint={
                    <>
                      Last used <Time at={lastUsedAt} />
                    </>
                  }
                />
                <DialogButton button="Remove…" kind="danger" label={`Remove ${name}`} title="Remove this key?">
                  {(close) => (
                    <PasswordConfirmation
                      submit="Remove"
                      kind="danger"
                      onCancel={close}
                      onConfirm={async (password) => {
                        const parameters = { id }
                        await client.call('DELETE /auth/2fa/webauthn/credentials/:id', {
                          parameters,
                          body: { password },
                        })
                        finish(close, 'The key was removed')
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
            {(close) => <AddKey onCancel={close} onDone={() => finish(close, 'The key was added')} />}
          </DialogButton>
        </li>
      </ul>
    </Section>
  )
}

function FactorName({ name, hint }: { readonly name: string; readonly hint: ComponentChildren }) {
  return (
    <span>
      {name}
      <br />
      <small class="hint">{hint}</small>
    </span>
  )
}

interface EnrollmentProps {
  readonly onDone: () => void
  readonly onCancel: () => void
}

/** Asks for the password, shows the secret for the app, and asks for the first code; then shows recovery codes. */
function EnrollTotp({ onDone, onCancel }: EnrollmentProps) {
  const [enrollment, setEnrollment] = useState<TotpSecret & { readonly password: string }>()
  if (enrollment) return <TotpForm {...enrollment} submit="Activate" onDone={onDone} />
  return (
    <PasswordConfirmation
      submit="Continue"
      onCancel={onCancel}
      onConfirm={async (password) => setEnrollment({ ...(await client.enrollTotp({ password })), password })}
    />
  )
}

function AddKey({ onDone, onCancel }: EnrollmentProps) {
  const [name, setName] = useState('')
  return (
    <PasswordConfirmation
      submit="Continue"
      onCancel={onCancel}
      onConfirm={async (password) => {
        await registerKey({ password, name: name.trim() || 'Key' })
        onDone()
      }}
    >
      <TextField
        label="Name"
        hint="For example: key ring, phone"
        value={name}
        onInput={setName}
        maxLength={64}
        autocomplete="off"
      />
    </PasswordConfirmation>
  )
}

interface PasswordConfirmationProps {
  readonly submit: string
  readonly kind?: 'primary' | 'danger' | undefined
  readonly onConfirm: (password: string) => Promise<void>
  readonly onCancel: () => void
  readonly children?: ComponentChildren
}

/** Confirms a change of second factors. Contract 2. */
function PasswordConfirmation({ onConfirm, children, ...form }: PasswordConfirmationProps) {
  const [password, setPassword] = useState('')
  return (
    <Form {...form} isDisabled={password === ''} onSubmit={() => onConfirm(password)}>
      {children}
      <PasswordField
        label="Your password"
        hint="Your other sessions end."
        value={password}
        onInput={setPassword}
        hasFocus
      />
    </Form>
  )
}
