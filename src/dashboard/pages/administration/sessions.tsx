import { useState } from 'preact/hooks'
import { ConfirmButton, type ConfirmButtonProps } from '#dashboard/components/dialog'
import { Empty } from '#dashboard/components/empty-state'
import { TextField } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { CallResult, Section } from '#dashboard/components/page'
import { withExplanation } from '#dashboard/components/problem-text'
import { type SessionEntry, SessionTable } from '#dashboard/components/session-table'
import { notify } from '#dashboard/components/toasts'
import { useCall } from '#dashboard/components/use-call'
import { mayInTenant, tenantOption, tenantQuery } from '#dashboard/pages/administration/tenant-choice'
import { missingPermissions } from '#dashboard/pages/administration/user-forms'
import { client } from '#dashboard/session'

/** The sessions of a user, and buttons to end them. Contract 2, Sessions. */
export function Sessions() {
  const [typed, setTyped] = useState('')
  const [name, setName] = useState('')
  return (
    <Section title="Sessions">
      <Form label="Show sessions" submit="Show" onSubmit={() => setName(typed.trim())}>
        <TextField
          label="User"
          hint="The name of the user."
          value={typed}
          onInput={setTyped}
          maxLength={64}
          isRequired
        />
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
    <CallResult call={sessions}>
      {(list) => (
        <>
          <SessionTable
            caption={`Sessions of ${name}`}
            rows={list}
            empty={<Empty title={`${name} has no sessions`} />}
            actions={(session) =>
              mayEnd && (
                <EndButton
                  {...shared}
                  button="End"
                  buttonKind="quiet"
                  label={`End the session from ${session.address}`}
                  ended={session}
                />
              )
            }
          />
          {mayEnd && list.length > 0 && (
            <p>
              <EndButton {...shared} button={`Sign ${name} out everywhere`} buttonKind="danger" ended="all" />
            </p>
          )}
        </>
      )}
    </CallResult>
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
      onConfirm={async () => {
        await withExplanation(endSession(name, ended), { 403: missingPermissions })
        notify(isAll ? `${name} is signed out everywhere` : `A session of ${name} has ended`)
        onEnded()
      }}
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
