import { useState } from 'preact/hooks'
import type { Item } from '#client/client'
import { expiresIn, keyLifetimes } from '#dashboard/pages/administration/lifetimes'
import { RoleChoice } from '#dashboard/pages/administration/role-choice'
import { ShownOnce } from '#dashboard/pages/administration/shown-once'
import { mayHere, tenantOption, tenantQuery } from '#dashboard/pages/administration/tenant-choice'
import { beyond } from '#dashboard/pages/administration/user-forms'
import { RoleNames } from '#dashboard/pages/administration/users'
import { Button } from '#dashboard/parts/button'
import { Confirm, Dialog } from '#dashboard/parts/dialog'
import { Command, Empty } from '#dashboard/parts/empty'
import { explained } from '#dashboard/parts/explained'
import { Select, TextField } from '#dashboard/parts/fields'
import { Form } from '#dashboard/parts/form'
import { Answered, Section } from '#dashboard/parts/page'
import { type Column, Table } from '#dashboard/parts/table'
import { Time } from '#dashboard/parts/time'
import { say } from '#dashboard/parts/toasts'
import { useCall } from '#dashboard/parts/use-call'
import { client } from '#dashboard/session'

type ApiKey = Item<'GET /iam/api-keys'>

interface Made {
  readonly name: string
  readonly key: string
}

/** Keys of programs, which act as users with roles of their own. Contract 2. */
export function ApiKeys() {
  const keys = useCall(() => client.call('GET /iam/api-keys', { query: tenantQuery() }), [])
  const [isMaking, setMaking] = useState(false)
  const [made, setMade] = useState<Made>()
  const [ended, end] = useState<ApiKey>()
  const mayMake = mayHere('users', 'create')

  const columns: readonly Column<ApiKey>[] = [
    { key: 'name', title: 'Name', cell: ({ name }) => name },
    { key: 'id', title: 'Id', cell: ({ id }) => <code>{id}</code> },
    { key: 'roles', title: 'Roles', cell: ({ roles }) => <RoleNames roles={roles} /> },
    { key: 'created', title: 'Since', cell: ({ createdAt }) => <Time at={createdAt} /> },
    {
      key: 'expires',
      title: 'Ends',
      cell: ({ expiresAt }) => (expiresAt === undefined ? 'when deleted' : <Time at={expiresAt} />),
    },
    {
      key: 'actions',
      title: <span class="hidden">Actions</span>,
      cell: (key) =>
        mayHere('users', 'delete') && (
          <Button kind="quiet" label={`Delete ${key.name}`} onPress={() => end(key)}>
            Delete
          </Button>
        ),
    },
  ]
  return (
    <Section
      title="API keys"
      actions={
        mayMake && (
          <Button kind="primary" onPress={() => setMaking(true)}>
            New API key
          </Button>
        )
      }
    >
      {made && (
        <ShownOnce
          title={`The API key ${made.name}`}
          secret={made.key}
          label="Copy the key"
          onPutAway={() => setMade(undefined)}
        >
          <p>A program sends it with every request:</p>
          <Command command={`curl -H 'X-API-Key: ${made.key}' ${location.origin}/api/v1/devices`} />
        </ShownOnce>
      )}
      <Answered called={keys}>
        {(list) => (
          <Table
            caption="List of API keys"
            columns={columns}
            rows={list}
            rowKey={({ id }) => id}
            empty={
              <Empty
                title="There is no API key yet"
                command={
                  mayMake ? `npm run -s admin -- key add api reporting --role viewer${tenantOption()}` : undefined
                }
              >
                A program acts by one as a user with its roles.
                {mayMake && ' Make it above, or from the command line.'}
              </Empty>
            }
          />
        )}
      </Answered>
      <Dialog title="New API key" isOpen={isMaking} onClose={() => setMaking(false)}>
        <KeyForm
          onCancel={() => setMaking(false)}
          onMade={(key) => {
            setMaking(false)
            setMade(key)
            keys.again()
          }}
        />
      </Dialog>
      <Confirm
        title={`Delete the key ${ended?.name ?? ''}?`}
        isOpen={ended !== undefined}
        onClose={() => end(undefined)}
        confirm="Delete the key"
        onConfirm={async () => {
          if (!ended) return
          const call = client.call('DELETE /iam/api-keys/:id', { parameters: { id: ended.id }, query: tenantQuery() })
          await explained(call, { 403: beyond })
          say(`The key ${ended.name} has ended, with its sockets`)
          keys.again()
        }}
      >
        <p>
          Whatever program uses {ended?.name} is refused from now on, and its sockets are closed. Its roles were{' '}
          {ended?.roles.join(', ') || 'none'}.
        </p>
      </Confirm>
    </Section>
  )
}

function KeyForm({ onMade, onCancel }: { readonly onMade: (made: Made) => void; readonly onCancel: () => void }) {
  const [name, setName] = useState('')
  const [roles, setRoles] = useState<readonly string[]>([])
  const [lifetime, setLifetime] = useState('')
  const make = async () => {
    const body = { name: name.trim(), roles: [...roles], ...expiresIn(lifetime) }
    const call = client.call('POST /iam/api-keys', { query: tenantQuery(), body })
    const { key } = await explained(call, { 403: beyond })
    onMade({ name: body.name, key })
  }
  return (
    <Form label="New API key" submit="Make the key" onSubmit={make} onCancel={onCancel}>
      <TextField
        label="Name"
        hint="What the program is."
        value={name}
        onInput={setName}
        maxLength={64}
        isRequired
        hasFocus
      />
      <RoleChoice roles={roles} onChange={setRoles} />
      <Select label="It is good" value={lifetime} options={keyLifetimes} onChange={setLifetime} />
    </Form>
  )
}
