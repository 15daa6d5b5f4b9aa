import { useState } from 'preact/hooks'
import { Button } from '#dashboard/components/button'
import { ConfirmButton } from '#dashboard/components/dialog'
import { Empty } from '#dashboard/components/empty-state'
import { PasswordField, passwordCharactersMin, TextField } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { CallResult, Page, Section } from '#dashboard/components/page'
import { withExplanation } from '#dashboard/components/problem-text'
import { SessionTable } from '#dashboard/components/session-table'
import { Badge } from '#dashboard/components/status'
import { notify } from '#dashboard/components/toasts'
import { useCall } from '#dashboard/components/use-call'
import { SecondFactors } from '#dashboard/pages/account/second-factors'
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
          <dl class="facts">
            <dt>Name</dt>
            <dd>{name}</dd>
            <dt>Tenant</dt>
            <dd>{tenant}</dd>
            <dt>Roles</dt>
            <dd>{roles.length === 0 ? 'none' : roles.map((role) => <Badge key={role}>{role}</Badge>)}</dd>
            <dt>Permissions</dt>
            <dd>
              <ul>
                {Object.entries(permissions).map(([resource, actions]) => (
                  <li key={resource}>
                    {resource}: <span class="soft">{actions.length === 4 ? 'everything' : actions.join(', ')}</span>
                  </li>
                ))}
              </ul>
            </dd>
          </dl>
        </Section>
        <EmailSection />
        <PasswordSection />
        <SecondFactors />
      </div>
      <SessionsSection />
    </Page>
  )
}

/** The address for mails of functions and for codes. */
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
  const [email, setEmail] = useState(before)
  const [password, setPassword] = useState('')
  const change = async () => {
    const body = { current: password, email: email.trim() || null }
    await withExplanation(client.call('PUT /auth/email', { body }), {
      409: 'Another user of this tenant has this address.',
    })
    notify(body.email ? `Mails go to ${body.email}` : 'The address was removed')
    onChanged()
  }
  return (
    <Form submit="Change address" isDisabled={password === '' || email.trim() === before} onSubmit={change}>
      <TextField
        label="E-mail address"
        hint="Receives the mails of functions and links for a new password; also signs in. Empty: none."
        type="email"
        value={email}
        onInput={setEmail}
        path="email"
        autocomplete="email"
        maxLength={254}
      />
      <PasswordField label="Password to confirm" value={password} onInput={setPassword} />
    </Form>
  )
}

function PasswordSection() {
  const [current, setCurrent] = useState('')
  const [password, setPassword] = useState('')
  const [repeated, setRepeated] = useState('')
  const change = async () => {
    await client.call('PUT /auth/password', { body: { current, password } })
    for (const clear of [setCurrent, setPassword, setRepeated]) clear('')
    notify('The password was changed, and other sessions were ended')
  }
  return (
    <Section title="Password">
      <Form
        submit="Change password"
        isDisabled={current === '' || password.length < passwordCharactersMin || repeated !== password}
        onSubmit={change}
      >
        <PasswordField label="Current password" value={current} onInput={setCurrent} />
        <PasswordField
          label="New password"
          hint={`${passwordCharactersMin} characters or more. Your other sessions end.`}
          value={password}
          onInput={setPassword}
          path="password"
          minLength={passwordCharactersMin}
          isNew
        />
        <PasswordField
          label="Repeat the new password"
          value={repeated}
          onInput={setRepeated}
          problem={repeated !== '' && repeated !== password ? 'The passwords differ.' : undefined}
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
    notify('The session was ended')
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
      <CallResult call={sessions}>
        {(list) => (
          <SessionTable
            caption="List of sessions"
            rows={list}
            empty={<Empty title="No sessions" />}
            actions={({ id, isCurrent }) => !isCurrent && <Button onPress={() => end(id)}>End</Button>}
          />
        )}
      </CallResult>
    </Section>
  )
}
