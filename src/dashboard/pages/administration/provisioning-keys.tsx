import { useState } from 'preact/hooks'
import type { Item } from '#client/client'
import { expiresIn, keyLifetimes } from '#dashboard/pages/administration/lifetimes'
import { ShownOnce } from '#dashboard/pages/administration/shown-once'
import { mayHere, tenantName, tenantOption, tenantQuery } from '#dashboard/pages/administration/tenant-choice'
import { Button } from '#dashboard/parts/button'
import { Confirm, Dialog } from '#dashboard/parts/dialog'
import { Command, Empty } from '#dashboard/parts/empty'
import { explained } from '#dashboard/parts/explained'
import { NumberField, Select, TextField } from '#dashboard/parts/fields'
import { Form } from '#dashboard/parts/form'
import { Answered, Section } from '#dashboard/parts/page'
import { type Column, Table } from '#dashboard/parts/table'
import { Time } from '#dashboard/parts/time'
import { say } from '#dashboard/parts/toasts'
import { useCall } from '#dashboard/parts/use-call'
import { client } from '#dashboard/session'

type ProvisioningKey = Item<'GET /iam/provisioning-keys'>

interface Made {
  readonly name: string
  readonly key: string
}

/** Such a key is good for any device. Contract 2. */
const notAll = 'A provisioning key is good for any device: it takes a right on all of them.'

/** Keys by which gateways register devices and speak for them. Contract 2, 7. */
export function ProvisioningKeys() {
  const keys = useCall(() => client.call('GET /iam/provisioning-keys', { query: tenantQuery() }), [])
  const [isMaking, setMaking] = useState(false)
  const [made, setMade] = useState<Made>()
  const [ended, end] = useState<ProvisioningKey>()
  const mayMake = mayHere('device', 'create')

  const columns: readonly Column<ProvisioningKey>[] = [
    { key: 'name', title: 'Name', cell: ({ name }) => name },
    { key: 'id', title: 'Id', cell: ({ id }) => <code>{id}</code> },
    { key: 'devices', title: 'Devices', align: 'end', cell: ({ devices }) => devices },
    { key: 'most', title: 'At most', align: 'end', cell: ({ maxDevices }) => maxDevices ?? 'any number' },
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
        mayHere('device', 'delete') && (
          <Button kind="quiet" label={`Delete ${key.name}`} onPress={() => end(key)}>
            Delete
          </Button>
        ),
    },
  ]
  return (
    <Section
      title="Provisioning keys"
      actions={
        mayMake && (
          <Button kind="primary" onPress={() => setMaking(true)}>
            New provisioning key
          </Button>
        )
      }
    >
      {made && <KeyShown made={made} onPutAway={() => setMade(undefined)} />}
      <Answered called={keys}>
        {(list) => (
          <Table
            caption="List of provisioning keys"
            columns={columns}
            rows={list}
            rowKey={({ id }) => id}
            empty={<NoKey mayMake={mayMake} />}
          />
        )}
      </Answered>
      <Dialog title="New provisioning key" isOpen={isMaking} onClose={() => setMaking(false)}>
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
          const call = client.call('DELETE /iam/provisioning-keys/:id', {
            parameters: { id: ended.id },
            query: tenantQuery(),
          })
          await explained(call, { 403: notAll })
          say(`The key ${ended.name} has ended, with its links`)
          keys.again()
        }}
      >
        <p>
          Every link that was opened with {ended?.name} is closed at once; its {countText(ended?.devices ?? 0)} cannot
          come back by it. The devices stay, with their values.
        </p>
      </Confirm>
    </Section>
  )
}

function countText(devices: number): string {
  return devices === 1 ? '1 device' : `${devices} devices`
}

function KeyForm({ onMade, onCancel }: { readonly onMade: (made: Made) => void; readonly onCancel: () => void }) {
  const [name, setName] = useState('')
  const [maxDevices, setMaxDevices] = useState<number>()
  const [lifetime, setLifetime] = useState('')
  const make = async () => {
    const body = { name: name.trim(), ...(maxDevices !== undefined && { maxDevices }), ...expiresIn(lifetime) }
    const call = client.call('POST /iam/provisioning-keys', { query: tenantQuery(), body })
    const { key } = await explained(call, { 403: notAll })
    onMade({ name: body.name, key })
  }
  return (
    <Form label="New provisioning key" submit="Make the key" onSubmit={make} onCancel={onCancel}>
      <TextField
        label="Name"
        hint="Where it is: a gateway, a hall."
        value={name}
        onInput={setName}
        maxLength={64}
        isRequired
        hasFocus
      />
      <NumberField
        label="Devices at most"
        hint="How many it may register. Empty: any number."
        value={maxDevices}
        onInput={setMaxDevices}
        min={1}
        step={1}
      />
      <Select label="It is good" value={lifetime} options={keyLifetimes} onChange={setLifetime} />
    </Form>
  )
}

function KeyShown({ made: { name, key }, onPutAway }: { readonly made: Made; readonly onPutAway: () => void }) {
  const tenant = tenantName()
  const user = tenant === 'default' ? '*' : `${tenant}/*`
  return (
    <ShownOnce title={`The provisioning key ${name}`} secret={key} label="Copy the key" onPutAway={onPutAway}>
      <p>
        A gateway links with the user name <code>{user}</code> and this key as its password. A simulated fleet does so
        too:
      </p>
      <Command command={`npm run fleet -- --key ${key}`} />
    </ShownOnce>
  )
}

function NoKey({ mayMake }: { readonly mayMake: boolean }) {
  if (!mayMake) return <Empty title="There is no provisioning key">Who may make devices can make one.</Empty>
  return (
    <Empty
      title="There is no provisioning key yet"
      command={`npm run -s admin -- key add provisioning hall-3 --max-devices 200${tenantOption()}`}
    >
      With one a gateway registers devices as they come, and speaks for them. Make it above, or from the command line.
    </Empty>
  )
}
