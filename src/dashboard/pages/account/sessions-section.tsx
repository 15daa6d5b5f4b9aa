import { useState } from 'preact/hooks'
import { Button } from '#dashboard/parts/button'
import { Confirm } from '#dashboard/parts/dialog'
import { Empty } from '#dashboard/parts/empty'
import { Answered, Section } from '#dashboard/parts/page'
import { Badge } from '#dashboard/parts/status'
import { Table } from '#dashboard/parts/table'
import { Time } from '#dashboard/parts/time'
import { say } from '#dashboard/parts/toasts'
import { useCall } from '#dashboard/parts/use-call'
import { client, signOut } from '#dashboard/session'

/** Everywhere one is signed in, and ending that. */
export function SessionsSection() {
  const [isAsked, setAsked] = useState(false)
  const sessions = useCall(() => client.call('GET /auth/sessions'), [])
  const end = async (id: string) => {
    await client.call('DELETE /auth/sessions/:id', { parameters: { id } })
    say('The session was ended')
    sessions.again()
  }
  return (
    <Section
      title="Where you are signed in"
      actions={
        <Button kind="danger" onPress={() => setAsked(true)}>
          Sign out everywhere…
        </Button>
      }
    >
      <Answered called={sessions}>
        {(list) => (
          <Table
            caption="Sessions"
            rows={list}
            rowKey={({ id }) => id}
            empty={<Empty title="No session" />}
            columns={[
              {
                key: 'agent',
                title: 'With',
                cell: ({ agent, isCurrent }) => (
                  <>
                    {shortAgent(agent)} {isCurrent && <Badge tone="good">this one</Badge>}
                  </>
                ),
              },
              { key: 'address', title: 'From', cell: ({ address }) => <code>{address}</code> },
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
      </Answered>
      <Confirm
        title="Sign out everywhere?"
        isOpen={isAsked}
        onClose={() => setAsked(false)}
        confirm="Sign out everywhere"
        onConfirm={() => signOut({ all: true })}
      >
        <p>Every session of yours ends at once, this one too, in browsers and programs. API keys stay.</p>
      </Confirm>
    </Section>
  )
}

/** `Firefox 128 on Linux` where that can be told. */
function shortAgent(agent: string): string {
  const browser = /(Firefox|Edg|OPR|Chrome|Version)\/(\d+)/.exec(agent)
  const system = /(Windows|Mac OS X|Android|iPhone|iPad|Linux)/.exec(agent)?.[1]
  if (!browser) return agent || 'unknown'
  const name = { Edg: 'Edge', OPR: 'Opera', Version: 'Safari' }[browser[1] ?? ''] ?? browser[1]
  return `${name} ${browser[2]}${system ? ` on ${system}` : ''}`
}
