import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Button } from '#dashboard/components/button'
import { ConfirmButton, DialogButton } from '#dashboard/components/dialog'
import { PasswordField, passwordCharactersMin, TextField, useField, useFields } from '#dashboard/components/fields'
import { Form, type FormProps } from '#dashboard/components/form'
import { CallResult, Empty, Facts, Page, Section } from '#dashboard/components/page'
import { withExplanation } from '#dashboard/components/problem-text'
import { SessionTable } from '#dashboard/components/session-table'
import { Badge } from '#dashboard/components/status'
import { Time } from '#dashboard/components/time'
import { notify } from '#dashboard/components/toasts'
import { useCall } from '#dashboard/components/use-call'
import { registerPasskey, TotpForm, type TotpSecret } from '#dashboard/pages/sign-in/second-factor'
import { client, session, signOut } from '#dashboard/session'
import '#dashboard/pages/account/account.css'

export default function AccountPage() {
  const { state, name, tenant, roles = [], permissions } = session.value
  if (state === 'IAM off') {
    return (
      <Page title="Your account">
        <Empty title="Authentication is off" command="npm start">
          <p>
            The server runs with <code>IAM=off</code>: anyone who can reach it may do everything. Started without this
            setting, it creates an administrator and prints the password.
          </p>
        </Empty>
      </Page>
    )
  }
  return (
    <Page title="Your account">
      <div class="columns">
        <Section title="Your user">
          <Facts
            facts={{
              Name: name,
              Tenant: tenant,
              Roles: roles.length === 0 ? 'none' : roles.map((role) => <Badge key={role}>{role}</Badge>),
              Permissions: (
                <ul>
                  {Object.entries(permissions).map(([resource, actions]) => (
                    <li key={resource}>
                      {resource}: <span class="soft">{actions.length === 4 ? 'everything' : actions.join(', ')}</span>
                    </li>
                  ))}
                </ul>
              ),
            }}
          />
        </Section>
        <EmailSection />
        <PasswordSection />
        <SecondFactors />
      </div>
      <SessionsSection />
    </Page>
  )
}

/** The e-mail address of the user, for mails of functions and mails with codes. */
function EmailSection() {
  const account = useCall(() => client.call('GET /iam/me'), [])
  return (
    <Section title="E-mail">
      <CallResult call={account}>
        {({ email = '' }) => <EmailForm key={email} before={email} onChanged={account.refresh} />}
      </CallResult>
    </Section>
  )
}

function EmailForm({ before, onChanged }: { readonly before: string; readonly onChanged: () => void }) {
  const email = useField(before)
  const password = useField('')
  const change = async () => {
    const body = { current: password.value, email: email.value.trim() || null }
    await withExplanation(client.call('PUT /auth/email', { body }), {
      409: 'Another user of this tenant has this address.',
    })
    notify(body.email ? `Mails go to ${body.email}` : 'The address is removed')
    onChanged()
  }
  return (
    <Form submit="Change address" isDisabled={password.value === '' || email.value.trim() === before} onSubmit={change}>
      <TextField
        label="E-mail address"
        hint="Receives the mails of functions, and links for a new password. Can be used for sign-in. Empty: no address."
        type="email"
        {...email}
        path="email"
        autocomplete="email"
        maxLength={254}
      />
      <PasswordField label="Password to confirm" {...password} />
    </Form>
  )
}

function PasswordSection() {
  const { values, set, field } = useFields({ current: '', password: '', repeated: '' })
  const { current, password, repeated } = values
  const change = async () => {
    await client.call('PUT /auth/password', { body: { current, password } })
    set({ current: '', password: '', repeated: '' })
    notify('The password is changed, and other sessions have ended')
  }
  const isComplete = current !== '' && password.length >= passwordCharactersMin
  const isDifferent = repeated !== password
  return (
    <Section title="Password">
      <Form submit="Change password" isDisabled={!isComplete || isDifferent} onSubmit={change}>
        <PasswordField label="Current password" {...field('current')} />
        <PasswordField
          label="New password"
          hint={`${passwordCharactersMin} characters or more. Your other sessions end.`}
          {...field('password')}
          minLength={passwordCharactersMin}
          isNew
        />
        <PasswordField
          label="Repeat the new password"
          {...field('repeated')}
          problem={repeated !== '' && isDifferent ? 'The passwords differ.' : undefined}
          isNew
        />
      </Form>
    </Section>
  )
}

function SessionsSection() {
  const sessions = useCall(() => client.call('GET /auth/sessions'), [])
  const end = async (id: string) => {
    await client.call('DELETE /auth/sessions/:id', { parameters: { id } })
    notify('The session has ended')
    sessions.refresh()
  }
  return (
    <Section
      title="Sessions"
      actions={
        <ConfirmButton
          button="Sign out everywhere…"
          buttonKind="danger"
          title="Sign out everywhere?"
          confirm="Sign out everywhere"
          onConfirm={() => signOut({ all: true })}
        >
          <p>All your sessions end at once, including this one, in browsers and programs. API keys stay valid.</p>
        </ConfirmButton>
      }
    >
      <SessionTable
        caption="List of sessions"
        call={sessions}
        empty={<Empty title="No sessions" />}
        actions={({ id, isCurrent }) => !isCurrent && <Button onPress={() => end(id)}>End</Button>}
      />
    </Section>
  )
}

/** The user's second factors. Each change is confirmed with the password, and ends the other sessions. */
function SecondFactors() {
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
          <FactorName name="App for one-time codes">
            {hasTotp ? 'Active. A new setup replaces the app and the recovery codes.' : account.value && 'Not active.'}
          </FactorName>
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
                <FactorName name={name}>
                  Last used <Time at={lastUsedAt} />
                </FactorName>
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

function FactorName({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <span>
      {name}
      <br />
      <small class="hint">{children}</small>
    </span>
  )
}

interface RemoveButtonProps {
  readonly label?: string
  readonly title: string
  readonly remove: (password: string) => Promise<unknown>
  readonly onDone: () => void
}

function RemoveButton({ label, title, remove, onDone }: RemoveButtonProps) {
  return (
    <DialogButton button="Remove…" kind="danger" label={label} title={title}>
      <PasswordForm submit="Remove" kind="danger" onPassword={(password) => remove(password).then(onDone)} />
    </DialogButton>
  )
}

/** Asks for the password, shows the secret for the app, and asks for the first code; then shows recovery codes. */
function EnrollTotp({ onDone }: { readonly onDone: () => void }) {
  const [enrollment, setEnrollment] = useState<TotpSecret & { readonly password: string }>()
  if (enrollment) return <TotpForm {...enrollment} submit="Activate" onDone={onDone} />
  const enroll = async (password: string) => {
    setEnrollment({ ...(await client.enrollTotp({ password })), password })
    return false
  }
  return <PasswordForm submit="Continue" onPassword={enroll} />
}

function AddPasskey({ onDone }: { readonly onDone: () => void }) {
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
