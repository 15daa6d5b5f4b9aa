import { useState } from 'preact/hooks'
import type { Item } from '#client/client'
import { mayHere, tenantOption, tenantQuery } from '#dashboard/pages/administration/tenant-choice'
import { beyond } from '#dashboard/pages/administration/user-forms'
import { ConfirmButton, type ConfirmButtonProps } from '#dashboard/parts/dialog'
import { Empty } from '#dashboard/parts/empty'
import { TextField } from '#dashboard/parts/fields'
import { Form } from '#dashboard/parts/form'
import { CallResult, Section } from '#dashboard/parts/page'
import { withExplanation } from '#dashboard/parts/problem-text'
import { Badge } from '#dashboard/parts/status'
import { actionsColumn, Table } from '#dashboard/parts/table'
import { Time } from '#dashboard/parts/time'
import { notify } from '#dashboard/parts/toasts'
import { useCall } from '#dashboard/parts/use-call'
import { client } from '#dashboard/session'

type Session = Item<'GET /iam/users/:name/sessions'>

/** The sessions of a user, and buttons to end them. Contract 2, Sessions. */
export function Sessions() {
  const [typed, type] = useState('')
  const [name, choose] = useState('')
  return (
    <Section title="Sessions">
      <Form label="Show sessions" submit="Show" onSubmit={() => choose(typed.trim())}>
        <TextField label="User" hint="The name of the user." value={typed} onInput={type} maxLength={64} isRequired />
      </Form>
      {name === '' ? (
        <Empty title="No user chosen" command={`npm run admin -- session list ann${tenantOption()}`}>
          Enter a user to see the sessions. Your own are on your account page.
        </Empty>
      ) : (
        <SessionsOf key={name} name={name} />
      )}
    </Section>
  )
}

/** `all`: every session. */
type Ended = Session | 'all'

function SessionsOf({ name }: { readonly name: string }) {
  const sessions = useCall(() => {
    const call = client.call('GET /iam/users/:name/sessions', { parameters: { name }, query: tenantQuery() })
    return withExplanation(call, { 404: `There is no user ${name} here.` })
  }, [name])
  const mayEnd = mayHere('users', 'update')
  return (
    <CallResult called={sessions}>
      {(list) => (
        <>
          <Table
            caption={`Sessions of ${name}`}
            rows={list}
            rowKey={({ id }) => id}
            empty={<Empty title={`${name} has no sessions`}>There are none to end.</Empty>}
            columns={[
              {
                key: 'agent',
                title: 'Browser or program',
                cell: ({ agent, isCurrent }) => (
                  <>
                    {agent || <span class="soft">unknown</span>} {isCurrent && <Badge tone="good">this one</Badge>}
                  </>
                ),
              },
              { key: 'address', title: 'Address', cell: ({ address }) => <code>{address}</code> },
              { key: 'scheme', title: 'Scheme', cell: ({ scheme }) => (scheme === 'dpop' ? 'DPoP' : 'Basic') },
              { key: 'since', title: 'Since', cell: ({ createdAt }) => <Time at={createdAt} /> },
              { key: 'used', title: 'Last used', cell: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
              actionsColumn(
                (session: Session) =>
                  mayEnd && (
                    <EndButton
                      button="End"
                      buttonKind="quiet"
                      label={`End the session from ${session.address}`}
                      name={name}
                      ended={session}
                      onEnded={sessions.again}
                    />
                  ),
              ),
            ]}
          />
          {mayEnd && list.length > 0 && (
            <p>
              <EndButton
                button={`Sign ${name} out everywhere`}
                buttonKind="danger"
                name={name}
                ended="all"
                onEnded={sessions.again}
              />
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
        await withExplanation(endOf(name, ended), { 403: beyond })
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

function endOf(name: string, ended: Ended): Promise<undefined> {
  const query = tenantQuery()
  if (ended === 'all') return client.call('DELETE /iam/users/:name/sessions', { parameters: { name }, query })
  return client.call('DELETE /iam/users/:name/sessions/:id', { parameters: { name, id: ended.id }, query })
}
