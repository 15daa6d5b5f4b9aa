import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { Item } from '#client/client'
import { apiUrl } from '#dashboard/address'
import { fleetCommand } from '#dashboard/commands'
import { ConfirmButton, DialogButton } from '#dashboard/components/dialog'
import { Command, Empty } from '#dashboard/components/empty-state'
import { NumberField, Select, TextField } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { OneTimeSecret } from '#dashboard/components/one-time-secret'
import { CallResult, Section } from '#dashboard/components/page'
import { withExplanation } from '#dashboard/components/problem-text'
import { actionsColumn, type Column, Table } from '#dashboard/components/table'
import { Time } from '#dashboard/components/time'
import { notify } from '#dashboard/components/toasts'
import { useCall } from '#dashboard/components/use-call'
import { expiresIn, keyLifetimes } from '#dashboard/pages/administration/lifetimes'
import { RoleChoice } from '#dashboard/pages/administration/role-choice'
import { mayInTenant, tenantName, tenantOption, tenantQuery } from '#dashboard/pages/administration/tenant-choice'
import { missingPermissions } from '#dashboard/pages/administration/user-forms'
import { RoleNames } from '#dashboard/pages/administration/users'
import { client } from '#dashboard/session'
import { countText } from '#dashboard/values/format-value'

interface Key {
  readonly id: string
  readonly name: string
  readonly createdAt: number
  readonly expiresAt?: number | undefined
}

/** The fields of every new key. */
interface NewKey {
  readonly name: string
  /** Seconds; absent: until it is deleted. */
  readonly expiresIn?: number
}

interface CreatedKey {
  readonly name: string
  readonly key: string
}

interface KeysSectionProps<Listed extends Key, More> {
  /** The kind in singular, `API key`; the plural appends an s. */
  readonly kind: string
  readonly read: () => Promise<readonly Listed[]>
  readonly mayCreate: boolean
  readonly mayDelete: boolean
  /** Columns in addition to name and times. */
  readonly columns: readonly Column<Listed>[]
  readonly empty: ComponentChildren
  readonly nameHint: string
  /** The additional fields of a new key: initial values, and inputs. */
  readonly first: More
  readonly fields: (more: More, change: (more: More) => void) => ComponentChildren
  readonly create: (key: NewKey, more: More) => Promise<{ readonly key: string }>
  /** Explains how to use a created key. */
  readonly usage: (created: CreatedKey) => ComponentChildren
  readonly remove: (key: Listed) => Promise<unknown>
  /** The connections that are closed with a key: `its sockets`. */
  readonly closes: string
  readonly deleteEffect: (key: Listed) => ComponentChildren
}

function KeysSection<Listed extends Key, More>(props: KeysSectionProps<Listed, More>) {
  const { kind, mayCreate, mayDelete, empty, usage, closes } = props
  const keys = useCall(props.read, [])
  const [created, setCreated] = useState<CreatedKey>()
  const columns: readonly Column<Listed>[] = [
    { key: 'name', title: 'Name', cell: ({ name }) => name },
    { key: 'id', title: 'Id', cell: ({ id }) => <code>{id}</code> },
    ...props.columns,
    { key: 'created', title: 'Created', cell: ({ createdAt }) => <Time at={createdAt} /> },
    {
      key: 'expires',
      title: 'Expires',
      cell: ({ expiresAt }) => (expiresAt === undefined ? 'never' : <Time at={expiresAt} />),
    },
    actionsColumn(
      (key) =>
        mayDelete && (
          <ConfirmButton
            button="Delete"
            buttonKind="quiet"
            label={`Delete ${key.name}`}
            title={`Delete the key ${key.name}?`}
            confirm="Delete the key"
            onConfirm={async () => {
              await props.remove(key)
              notify(`The key ${key.name} is deleted, and ${closes} are closed`)
              keys.refresh()
            }}
          >
            <p>{props.deleteEffect(key)}</p>
          </ConfirmButton>
        ),
    ),
  ]
  return (
    <Section
      title={`${kind.charAt(0).toUpperCase()}${kind.slice(1)}s`}
      actions={
        mayCreate && (
          <DialogButton kind="primary" button={`New ${kind}`} title={`New ${kind}`}>
            {(close) => (
              <KeyForm
                {...props}
                onCancel={close}
                onCreated={(key) => {
                  close()
                  setCreated(key)
                  keys.refresh()
                }}
              />
            )}
          </DialogButton>
        )
      }
    >
      {created && (
        <OneTimeSecret
          title={`The ${kind} ${created.name}`}
          secret={created.key}
          label="Copy the key"
          onDismiss={() => setCreated(undefined)}
        >
          {usage(created)}
        </OneTimeSecret>
      )}
      <CallResult call={keys}>
        {(list) => (
          <Table caption={`List of ${kind}s`} columns={columns} rows={list} rowKey={({ id }) => id} empty={empty} />
        )}
      </CallResult>
    </Section>
  )
}

interface KeyFormProps<Listed extends Key, More>
  extends Pick<KeysSectionProps<Listed, More>, 'kind' | 'nameHint' | 'first' | 'fields' | 'create'> {
  readonly onCreated: (created: CreatedKey) => void
  readonly onCancel: () => void
}

function KeyForm<Listed extends Key, More>(props: KeyFormProps<Listed, More>) {
  const { kind, nameHint, first, fields, create, onCreated, onCancel } = props
  const [name, setName] = useState('')
  const [more, setMore] = useState(first)
  const [lifetime, setLifetime] = useState('')
  const submit = async () => {
    const { key } = await create({ name: name.trim(), ...expiresIn(lifetime) }, more)
    onCreated({ name: name.trim(), key })
  }
  return (
    <Form label={`New ${kind}`} submit="Create key" onSubmit={submit} onCancel={onCancel} isUnsaved="touched">
      <TextField label="Name" hint={nameHint} value={name} onInput={setName} maxLength={64} isRequired hasFocus />
      {fields(more, (next) => setMore(() => next))}
      <Select label="Valid" value={lifetime} options={keyLifetimes} onChange={setLifetime} />
    </Form>
  )
}

type ApiKey = Item<'GET /iam/api-keys'>

const apiKeyColumns: readonly Column<ApiKey>[] = [
  { key: 'roles', title: 'Roles', cell: ({ roles }) => <RoleNames roles={roles} /> },
]

const noRoles: readonly string[] = []

/** Keys for programs, which act as users with their own roles. Contract 2. */
export function ApiKeys() {
  const mayCreate = mayInTenant('users', 'create')
  return (
    <KeysSection
      kind="API key"
      read={() => client.call('GET /iam/api-keys', { query: tenantQuery() })}
      mayCreate={mayCreate}
      mayDelete={mayInTenant('users', 'delete')}
      columns={apiKeyColumns}
      empty={
        <Empty
          title="No API keys"
          command={mayCreate ? `npm run -s admin -- key add api reporting --role viewer${tenantOption()}` : undefined}
        >
          A program with an API key acts as a user with the roles of the key.
          {mayCreate && ' Create one above, or on the command line.'}
        </Empty>
      }
      nameHint="The name of the program."
      first={noRoles}
      fields={(roles, change) => <RoleChoice roles={roles} onChange={change} />}
      create={(key, roles) => {
        const body = { ...key, roles: [...roles] }
        return withExplanation(client.call('POST /iam/api-keys', { query: tenantQuery(), body }), {
          403: missingPermissions,
        })
      }}
      usage={({ key }) => (
        <>
          <p>Programs send it with every request:</p>
          <Command command={`curl -H 'X-API-Key: ${key}' ${apiUrl()}/devices`} />
        </>
      )}
      remove={({ id }) => {
        const call = client.call('DELETE /iam/api-keys/:id', { parameters: { id }, query: tenantQuery() })
        return withExplanation(call, { 403: missingPermissions })
      }}
      closes="its sockets"
      deleteEffect={({ name, roles }) =>
        `Programs that use ${name} are refused from now on, and their sockets are closed. The roles of the key were ${
          roles.join(', ') || 'none'
        }.`
      }
    />
  )
}

type ProvisioningKey = Item<'GET /iam/provisioning-keys'>

/** A provisioning key applies to all devices. Contract 2. */
const allDevicesNeeded = 'A provisioning key applies to all devices, so it needs permission on all devices.'
const allDevices = { deviceIdentifier: '*' }

const provisioningKeyColumns: readonly Column<ProvisioningKey>[] = [
  { key: 'devices', title: 'Devices', align: 'end', cell: ({ devices }) => devices },
  { key: 'most', title: 'Limit', align: 'end', cell: ({ maxDevices }) => maxDevices ?? 'no limit' },
]

const noLimits: { readonly maxDevices?: number } = {}

/** Keys for gateways that register devices and report for them. Contract 2, 7. */
export function ProvisioningKeys() {
  const mayCreate = mayInTenant('device', 'create', allDevices)
  return (
    <KeysSection
      kind="provisioning key"
      read={() => client.call('GET /iam/provisioning-keys', { query: tenantQuery() })}
      mayCreate={mayCreate}
      mayDelete={mayInTenant('device', 'delete', allDevices)}
      columns={provisioningKeyColumns}
      empty={<NoKey mayCreate={mayCreate} />}
      nameHint="For example a gateway or a hall."
      first={noLimits}
      fields={({ maxDevices }, change) => (
        <NumberField
          label="Maximum devices"
          hint="The number of devices that it may register. Empty: no limit."
          value={maxDevices}
          onInput={(most) => change(most === undefined ? {} : { maxDevices: most })}
          min={1}
          step={1}
        />
      )}
      create={(key, limits) => {
        const body = { ...key, ...limits }
        return withExplanation(client.call('POST /iam/provisioning-keys', { query: tenantQuery(), body }), {
          403: allDevicesNeeded,
        })
      }}
      usage={({ key }) => (
        <>
          <p>
            A gateway connects with the user name <code>{gatewayUserName()}</code> and this key as its password. So does
            a simulated fleet:
          </p>
          <Command command={fleetCommand({ key, tenant: tenantName() })} />
        </>
      )}
      remove={({ id }) => {
        const call = client.call('DELETE /iam/provisioning-keys/:id', { parameters: { id }, query: tenantQuery() })
        return withExplanation(call, { 403: allDevicesNeeded })
      }}
      closes="its connections"
      deleteEffect={({ name, devices }) =>
        `All connections that use ${name} are closed at once, and its ${countText(devices, 'device')} cannot reconnect with it. The devices and their values stay.`
      }
    />
  )
}

function gatewayUserName(): string {
  const tenant = tenantName()
  return tenant === 'default' ? '*' : `${tenant}/*`
}

function NoKey({ mayCreate }: { readonly mayCreate: boolean }) {
  if (!mayCreate) return <Empty title="No provisioning keys">Creating one needs permission to create any device.</Empty>
  return (
    <Empty
      title="No provisioning keys"
      command={`npm run -s admin -- key add provisioning hall-3 --max-devices 200${tenantOption()}`}
    >
      With a provisioning key a gateway registers devices and reports for them. Create one above, or on the command
      line.
    </Empty>
  )
}
