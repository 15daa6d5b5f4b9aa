import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { DialogButton } from '#dashboard/components/dialog'
import { PasswordField, TextField, useField } from '#dashboard/components/fields'
import { Form, type FormProps } from '#dashboard/components/form'
import { CallResult, Section } from '#dashboard/components/page'
import { Time } from '#dashboard/components/time'
import { notify } from '#dashboard/components/toasts'
import { useCall } from '#dashboard/components/use-call'
import { registerPasskey } from '#dashboard/pages/sign-in/enroll-form'
import { TotpForm, type TotpSecret } from '#dashboard/pages/sign-in/totp-form'
import { client } from '#dashboard/session'

/** The user's second factors. Each change is confirmed with the password, and ends the other sessions. */
export function SecondFactors() {
  const passkeys = useCall(() => client.call('GET /auth/2fa/webauthn/credentials'), [])
  const account = useCall(() => client.call('GET /iam/me'), [])
  const hasTotp = account.value?.twoFactor?.includes('totp') ?? false
  const finish = (text: string) => {
    notify(text)
    passkeys.refresh()
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
            <EnrollTotp onDone={() => finish('One-time codes are active')} />
          </DialogButton>
          {hasTotp && (
            <RemoveButton
              title="Remove one-time codes?"
              remove={(password) => client.call('DELETE /auth/2fa/totp', { body: { password } })}
              onDone={() => finish('One-time codes are removed')}
            />
          )}
        </li>
        <CallResult call={passkeys}>
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
                <RemoveButton
                  label={`Remove ${name}`}
                  title="Remove this passkey?"
                  remove={(password) =>
                    client.call('DELETE /auth/2fa/webauthn/credentials/:id', { parameters: { id }, body: { password } })
                  }
                  onDone={() => finish('The passkey is removed')}
                />
              </li>
            ))
          }
        </CallResult>
        <li>
          <span>Passkey: on this device, a phone or a security key (WebAuthn)</span>
          <DialogButton button="Add…" title="Add a passkey">
            <AddPasskey onDone={() => finish('The passkey is added')} />
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

interface ChangeProps {
  readonly onDone: () => void
}

interface RemoveButtonProps extends ChangeProps {
  readonly label?: string
  readonly title: string
  readonly remove: (password: string) => Promise<unknown>
}

function RemoveButton({ label, title, remove, onDone }: RemoveButtonProps) {
  return (
    <DialogButton button="Remove…" kind="danger" label={label} title={title}>
      <PasswordForm submit="Remove" kind="danger" onPassword={(password) => remove(password).then(onDone)} />
    </DialogButton>
  )
}

/** Asks for the password, shows the secret for the app, and asks for the first code; then shows recovery codes. */
function EnrollTotp({ onDone }: ChangeProps) {
  const [enrollment, setEnrollment] = useState<TotpSecret & { readonly password: string }>()
  if (enrollment) return <TotpForm {...enrollment} submit="Activate" onDone={onDone} />
  const enroll = async (password: string) => {
    setEnrollment({ ...(await client.enrollTotp({ password })), password })
    return false
  }
  return <PasswordForm submit="Continue" onPassword={enroll} />
}

function AddPasskey({ onDone }: ChangeProps) {
  const name = useField('')
  return (
    <PasswordForm
      submit="Continue"
      onPassword={(password) => registerPasskey({ password, name: name.value.trim() || 'Passkey' }).then(onDone)}
    >
      <TextField label="Name" hint="For example: key ring, phone" {...name} maxLength={64} autocomplete="off" />
    </PasswordForm>
  )
}

interface PasswordFormProps extends Pick<FormProps, 'submit' | 'kind'> {
  readonly onPassword: (password: string) => Promise<unknown>
  readonly children?: ComponentChildren
}

/** Confirms a change of second factors. Contract 2. */
function PasswordForm({ onPassword, children, ...form }: PasswordFormProps) {
  const password = useField('')
  return (
    <Form {...form} isDisabled={password.value === ''} onSubmit={() => onPassword(password.value)}>
      {children}
      <PasswordField label="Your password" hint="Your other sessions end." {...password} hasFocus />
    </Form>
  )
}
