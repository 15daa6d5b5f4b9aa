import { SecondFactors } from '#dashboard/pages/account/second-factors'
import { Empty } from '#dashboard/parts/empty'
import { CallResult, Page, Section } from '#dashboard/parts/page'
import { Badge } from '#dashboard/parts/status'
import { client, session, signOut } from '#dashboard/session'
import '#dashboard/pages/account/account.css'
import { useState } from 'preact/hooks'
import { Button } from '#dashboard/parts/button'
import { ConfirmButton } from '#dashboard/parts/dialog'
import { TextField } from '#dashboard/parts/fields'
import { Form } from '#dashboard/parts/form'
import { detailOf, withExplanation } from '#dashboard/parts/problem-text'
import { Table } from '#dashboard/parts/table'
import { Time } from '#dashboard/parts/time'
import { notify } from '#dashboard/parts/toasts'
import { useCall } from '#dashboard/parts/use-call'

/** The user's own account: roles, password, second factors, and sessions. */
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
  const own = useCall(() => client.call('GET /iam/me'), [])
  return (
    <Section title="E-mail">
      <CallResult called={own}>
        {({ email = '' }) => <EmailForm key={email} before={email} onChanged={own.again} />}
      </CallResult>
    </Section>
  )
}

function EmailForm({ before, onChanged }: { readonly before: string; readonly onChanged: () => void }) {
  const [email, setEmail] = useState(before)
  const [current, setCurrent] = useState('')
  const [problem, setProblem] = useState<unknown>()
  const change = async () => {
    setProblem(undefined)
    const body = { current, email: email.trim() || null }
    const call = client.call('PUT /auth/email', { body })
    call.catch(setProblem)
    await withExplanation(call, { 409: 'Another user of this tenant has this address.' })
    notify(body.email ? `Mails go to ${body.email}` : 'The address was removed')
    onChanged()
  }
  return (
    <Form submit="Change address" isDisabled={current === '' || email.trim() === before} onSubmit={change}>
      <TextField
        label="E-mail address"
        hint="Receives the mails of functions and links for a new password; also signs in. Empty: none."
        type="email"
        value={email}
        onInput={setEmail}
        problem={detailOf(problem, 'email')}
        autocomplete="email"
        maxLength={254}
      />
      <TextField
        label="Password to confirm"
        type="password"
        value={current}
        onInput={setCurrent}
        autocomplete="current-password"
      />
    </Form>
  )
}

/** Contract 2. */
const passwordCharactersMin = 10

export function PasswordSection() {
  const [current, setCurrent] = useState('')
  const [password, setPassword] = useState('')
  const [again, setAgain] = useState('')
  const [problem, setProblem] = useState<unknown>()
  const change = async () => {
    setProblem(undefined)
    try {
      await client.call('PUT /auth/password', { body: { current, password } })
    } catch (refusal) {
      setProblem(refusal)
      throw refusal
    }
    for (const clear of [setCurrent, setPassword, setAgain]) clear('')
    notify('The password was changed, and other sessions were ended')
  }
  const isOther = again !== '' && again !== password
  return (
    <Section title="Password">
      <Form
        submit="Change password"
        isDisabled={current === '' || password.length < passwordCharactersMin || again !== password}
        onSubmit={change}
      >
        <TextField
          label="Current password"
          type="password"
          value={current}
          onInput={setCurrent}
          autocomplete="current-password"
        />
        <TextField
          label="New password"
          hint={`${passwordCharactersMin} characters or more. Your other sessions end.`}
          type="password"
          value={password}
          onInput={setPassword}
          problem={detailOf(problem, 'password')}
          autocomplete="new-password"
          minLength={passwordCharactersMin}
          maxLength={256}
        />
        <TextField
          label="Repeat the new password"
          type="password"
          value={again}
          onInput={setAgain}
          problem={isOther ? 'The passwords differ.' : undefined}
          autocomplete="new-password"
          maxLength={256}
        />
      </Form>
    </Section>
  )
}

/** All sessions of the user, and buttons to end them. */
export function SessionsSection() {
  const sessions = useCall(() => client.call('GET /auth/sessions'), [])
  const end = async (id: string) => {
    await client.call('DELETE /auth/sessions/:id', { parameters: { id } })
    notify('The session was ended')
    sessions.again()
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
      <CallResult called={sessions}>
        {(list) => (
          <Table
            caption="List of sessions"
            rows={list}
            rowKey={({ id }) => id}
            empty={<Empty title="No sessions" />}
            columns={[
              {
                key: 'agent',
                title: 'Browser or program',
                cell: ({ agent, isCurrent }) => (
                  <>
                    {shortAgent(agent)} {isCurrent && <Badge tone="good">this one</Badge>}
                  </>
                ),
              },
              { key: 'address', title: 'Address', cell: ({ address }) => <code>{address}</code> },
              { key: 'since', title: 'Since', cell: ({ createdAt }) => <Time at={createdAt} /> },
              { key: 'used', title: 'Last used', cell: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
              {
                key: 'end',
                title: <span class="hidden">End</span>,
                align: 'end',
                cell: ({ id, isCurrent }) => !isCurrent && <Button onPress={() => end(id)}>End</Button>,
              },
            ]}
          />
        )}
      </CallResult>
    </Section>
  )
}

/** `Firefox 128 on Linux`, if the text has this form. */
function shortAgent(agent: string): string {
  const browser = /(Firefox|Edg|OPR|Chrome|Version)\/(\d+)/.exec(agent)
  const system = /(Windows|Mac OS X|Android|iPhone|iPad|Linux)/.exec(agent)?.[1]
  if (!browser) return agent || 'unknown'
  const name = { Edg: 'Edge', OPR: 'Opera', Version: 'Safari' }[browser[1] ?? ''] ?? browser[1]
  return `${name} ${browser[2]}${system ? ` on ${system}` : ''}`
}
