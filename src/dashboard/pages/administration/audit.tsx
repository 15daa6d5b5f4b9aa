import { useState } from 'preact/hooks'
import type { Item } from '#client/routes'
import { Select, TextField, useField } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { Empty, Section } from '#dashboard/components/page'
import { Status } from '#dashboard/components/status'
import { type Column, PagedTable } from '#dashboard/components/table'
import { Time } from '#dashboard/components/time'
import { usePagedList } from '#dashboard/components/use-call'
import { client } from '#dashboard/session'

const pageSize = 100

const spans = [
  { value: '-1d', label: 'a day' },
  { value: '-7d', label: '7 days' },
  { value: '-30d', label: '30 days' },
  { value: '-90d', label: '90 days' },
]

const columns: readonly Column<Item<'GET /audit'>>[] = [
  { title: 'Time', cell: ({ at }) => <Time at={at} /> },
  { title: 'User', cell: ({ user, name }) => <span title={user}>{name}</span> },
  { title: 'Address', cell: ({ address }) => address },
  {
    title: 'Request',
    cell: ({ method, path, resourceIdentifier }) => (
      <code title={resourceIdentifier}>
        {method} {path.replace(/^\/api\/v1/, '')}
      </code>
    ),
  },
  {
    title: 'Status',
    cell: ({ status }) => <Status state={`${status}`} tone={status < 400 ? 'good' : 'bad'} />,
  },
]

/** The changes and sign-ins of users and API keys. Contract 12, Audit. */
export function Audit() {
  const typed = useField('')
  const [user, setUser] = useState('')
  const span = useField('-7d')
  const { value: from } = span
  const audit = usePagedList(
    () => client.pages('GET /audit', { query: { from, limit: `${pageSize}`, ...(user && { user }) } }),
    pageSize,
    [user, from],
  )
  const show = () => {
    const name = typed.value.trim()
    if (name === user) audit.refresh()
    else setUser(name)
  }
  return (
    <Section title="Changes and sign-ins">
      <Form label="Filter" submit="Show" onSubmit={show}>
        <TextField label="User or API key" hint="A name; empty: all." {...typed} maxLength={64} />
        <Select label="In the last" {...span} options={spans} />
      </Form>
      <PagedTable
        caption="Changes and sign-ins, newest first"
        columns={columns}
        paged={audit}
        rowKey={JSON.stringify}
        empty={<Empty title="No entries found" command="npm run admin -- audit" />}
      />
    </Section>
  )
}
