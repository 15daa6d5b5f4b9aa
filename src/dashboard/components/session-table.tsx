import type { ComponentChildren } from 'preact'
import type { Item } from '#client/client'
import { Badge } from '#dashboard/components/status'
import { actionsColumn, CallTable, type CallTableProps } from '#dashboard/components/table'
import { Time } from '#dashboard/components/time'

type SessionEntry = Item<'GET /iam/users/:name/sessions'>

interface SessionTableProps extends Pick<CallTableProps<SessionEntry>, 'caption' | 'call' | 'empty'> {
  readonly actions: (session: SessionEntry) => ComponentChildren
}

/** The sessions of a user. Contract 2, Sessions. */
export function SessionTable({ actions, ...table }: SessionTableProps) {
  return (
    <CallTable
      {...table}
      rowKey={({ id }) => id}
      columns={[
        {
          title: 'Browser or program',
          cell: ({ agent, isCurrent }) => (
            <>
              <span title={agent}>{shortAgent(agent)}</span> {isCurrent && <Badge tone="good">this one</Badge>}
            </>
          ),
        },
        { title: 'Address', cell: ({ address }) => <code>{address}</code> },
        { title: 'Scheme', cell: ({ scheme }) => (scheme === 'dpop' ? 'DPoP' : 'Basic') },
        { title: 'Since', cell: ({ createdAt }) => <Time at={createdAt} /> },
        { title: 'Last used', cell: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
        actionsColumn(actions),
      ]}
    />
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
