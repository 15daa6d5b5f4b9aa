import { useState } from 'preact/hooks'
import { ConfirmButton } from '#dashboard/components/dialog'
import { TextField, useField } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { Empty, Section } from '#dashboard/components/page'
import { withExplanation } from '#dashboard/components/problem-text'
import { SessionTable } from '#dashboard/components/session-table'
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

function UserSessions({ name }: { readonly name: string }) {
  const query = tenantQuery()
  const sessions = useCall(() => {
    const call = client.call('GET /iam/users/:name/sessions', { parameters: { name }, query })
    return withExplanation(call, { 404: `There is no user ${name} here.` })
  }, [name])
  const mayEnd = mayInTenant('users', 'update')
  const refusals = { 403: missingPermissions }
  const effect = (what: string) => (
    <p>
      {what} at once, with tokens and sockets. {name} may sign in again; to prevent that, disable the user.
    </p>
  )
  return (
    <>
      <SessionTable
        caption={`Sessions of ${name}`}
        call={sessions}
        empty={<Empty title={`${name} has no sessions`} />}
        actions={({ id, address }) =>
          mayEnd && (
            <ConfirmButton
              button="End"
              buttonKind="quiet"
              label={`End the session from ${address}`}
              title="End this session?"
              confirm="End session"
              onConfirm={() => {
                const call = client.call('DELETE /iam/users/:name/sessions/:id', { parameters: { name, id }, query })
                return withExplanation(call, refusals)
              }}
              done={`A session of ${name} has ended`}
              onDone={sessions.refresh}
            >
              {effect(`The session of ${name} from ${address} ends`)}
            </ConfirmButton>
          )
        }
      />
      {mayEnd && (sessions.value ?? []).length > 0 && (
        <p>
          <ConfirmButton
            button={`Sign ${name} out everywhere`}
            buttonKind="danger"
            confirm="End all sessions"
            onConfirm={() => {
              const call = client.call('DELETE /iam/users/:name/sessions', { parameters: { name }, query })
              return withExplanation(call, refusals)
            }}
            done={`${name} is signed out everywhere`}
            onDone={sessions.refresh}
          >
            {effect(`All sessions of ${name} end`)}
          </ConfirmButton>
        </p>
      )}
    </>
  )
}
