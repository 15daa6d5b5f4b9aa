import type { ComponentChildren } from 'preact'
import type { Item } from '#client/client'
import { Badge } from '#dashboard/components/status'
import { actionsColumn, Table, type TableProps } from '#dashboard/components/table'
import { Time } from '#dashboard/components/time'

export type SessionEntry = Item<'GET /iam/users/:name/sessions'>

interface SessionTableProps extends Pick<TableProps<SessionEntry>, 'caption' | 'rows' | 'empty'> {
  readonly actions: (session: SessionEntry) => ComponentChildren
}

/** The sessions of a user. Contract 2, Sessions. */
export function SessionTable({ actions, ...table }: SessionTableProps) {
  return (
    <Table
      {...table}
      rowKey={({ id }) => id}
      columns={[
        {
          key: 'agent',
          title: 'Browser or program',
          cell: ({ agent, isCurrent }) => (
            <>
              <span title={agent}>{shortAgent(agent)}</span> {isCurrent && <Badge tone="good">this one</Badge>}
            </>
          ),
        },
        { key: 'address', title: 'Address', cell: ({ address }) => <code>{address}</code> },
        { key: 'scheme', title: 'Scheme', cell: ({ scheme }) => (scheme === 'dpop' ? 'DPoP' : 'Basic') },
        { key: 'since', title: 'Since', cell: ({ createdAt }) => <Time at={createdAt} /> },
        { key: 'used', title: 'Last used', cell: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
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
