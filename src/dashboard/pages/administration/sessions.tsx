import { useState } from 'preact/hooks'
import { ConfirmButton, type ConfirmButtonProps } from '#dashboard/components/dialog'
import { TextField, useField } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { Empty, Section } from '#dashboard/components/page'
import { withExplanation } from '#dashboard/components/problem-text'
import { type SessionEntry, SessionTable } from '#dashboard/components/session-table'
import { useCall } from '#dashboard/components/use-call'
import {
  mayInTenant,
  missingPermissions,
  tenantOption,
  tenantQuery,
} from '#dashboard/pages/administration/tenant-choice'
import { client } from '#dashboard/session'

/** The sessions of a user, and buttons to end them. Contract 2, Sessions. */
export function Sessions() {
  const typed = useField('')
  const [name, setName] = useState('')
  return (
    <Section title="Sessions">
      <Form label="Show sessions" submit="Show" onSubmit={() => setName(typed.value.trim())}>
        <TextField label="User" hint="The name of the user." {...typed} maxLength={64} isRequired />
      </Form>
      {name === '' ? (
        <Empty title="No user selected" command={`npm run admin -- session list ann${tenantOption()}`}>
          Enter the name of a user to see their sessions. Your own are on your account page.
        </Empty>
      ) : (
        <UserSessions key={name} name={name} />
      )}
    </Section>
  )
}

/** One session, or every session of the user. */
type Ended = SessionEntry | 'all'

function UserSessions({ name }: { readonly name: string }) {
  const sessions = useCall(() => {
    const call = client.call('GET /iam/users/:name/sessions', { parameters: { name }, query: tenantQuery() })
    return withExplanation(call, { 404: `There is no user ${name} here.` })
  }, [name])
  const mayEnd = mayInTenant('users', 'update')
  const shared = { name, onEnded: sessions.refresh }
  return (
    <>
      <SessionTable
        caption={`Sessions of ${name}`}
        call={sessions}
        empty={<Empty title={`${name} has no sessions`} />}
        actions={(session) => {
          const label = `End the session from ${session.address}`
          return mayEnd && <EndButton {...shared} button="End" buttonKind="quiet" label={label} ended={session} />
        }}
      />
      {mayEnd && (sessions.value ?? []).length > 0 && (
        <p>
          <EndButton {...shared} button={`Sign ${name} out everywhere`} buttonKind="danger" ended="all" />
        </p>
      )}
    </>
  )
}

interface EndButtonProps extends Pick<ConfirmButtonProps, 'button' | 'buttonKind' | 'label'> {
  readonly name: string
  readonly ended: Ended
  readonly onEnded: () => void
}

function EndButton({ name, ended, onEnded, ...button }: EndButtonProps) {
  const isAll = ended === 'all'
  return (
    <ConfirmButton
      {...button}
      title={isAll ? `Sign ${name} out everywhere?` : 'End this session?'}
      confirm={isAll ? 'End all sessions' : 'End session'}
      onConfirm={() => withExplanation(endSession(name, ended), { 403: missingPermissions })}
      done={isAll ? `${name} is signed out everywhere` : `A session of ${name} has ended`}
      onDone={onEnded}
    >
      <p>
        {isAll ? `All sessions of ${name} end` : `The session of ${name} from ${ended.address} ends`} at once, with
        tokens and sockets. {name} may sign in again; to prevent that, disable the user.
      </p>
    </ConfirmButton>
  )
}

function endSession(name: string, ended: Ended): Promise<undefined> {
  const query = tenantQuery()
  if (ended === 'all') return client.call('DELETE /iam/users/:name/sessions', { parameters: { name }, query })
  return client.call('DELETE /iam/users/:name/sessions/:id', { parameters: { name, id: ended.id }, query })
}
