import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { Item } from '#client/client'
import { apiUrl } from '#dashboard/address'
import { fleetCommand } from '#dashboard/commands'
import { Command } from '#dashboard/components/copy-button'
import { ConfirmButton, DialogButton } from '#dashboard/components/dialog'
import { NumberField, Select, TextField, useFields } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { OneTimeSecret } from '#dashboard/components/one-time-secret'
import { Empty, Section } from '#dashboard/components/page'
import { withExplanation } from '#dashboard/components/problem-text'
import { Status } from '#dashboard/components/status'
import { actionsColumn, CallTable, type Column } from '#dashboard/components/table'
import { Time } from '#dashboard/components/time'
import { useCall } from '#dashboard/components/use-call'
import { expiresIn, keyLifetimes, RoleChoice } from '#dashboard/pages/administration/credential-fields'
import {
  mayInTenant,
  missingPermissions,
  tenantName,
  tenantOption,
  tenantQuery,
} from '#dashboard/pages/administration/tenant-choice'
import { RoleNames } from '#dashboard/pages/administration/users'
import { client, defaultTenant, mayUser } from '#dashboard/session'
import { countText } from '#dashboard/values/format-value'

type ApiKey = Item<'GET /iam/api-keys'>
type ProvisioningKey = Item<'GET /iam/provisioning-keys'>
/** A new key as it is shown once. */
type CreatedKey = Pick<NewKey, 'name'> & { readonly key: string }

/** The input for a new key. An API key has roles, a provisioning key a maximum. */
interface NewKey {
  readonly name: string
  readonly roles: readonly string[]
  readonly maxDevices: number | undefined
  /** Seconds; empty: unlimited. */
  readonly lifetime: string
}

const noKey: NewKey = { name: '', roles: [], maxDevices: undefined, lifetime: '' }

interface KeysSectionProps<Listed> {
  /** The kind in singular, `API key`; the plural appends an s. */
  readonly kind: string
  readonly read: () => Promise<readonly Listed[]>
  readonly mayCreate: boolean
  readonly mayDelete: boolean
  /** Columns in addition to name and times. */
  readonly columns: readonly Column<Listed>[]
  readonly empty: ComponentChildren
  readonly nameHint: string
  /** The input of the roles, or of the maximum. */
  readonly fields: (field: ReturnType<typeof useFields<NewKey>>['field']) => ComponentChildren
  readonly create: (key: NewKey) => Promise<{ readonly key: string }>
  /** Explains how to use a created key. */
  readonly usage: (created: CreatedKey) => ComponentChildren
  readonly remove: (key: Listed) => Promise<unknown>
  /** The text for a refusal to create or delete a key. */
  readonly forbidden: string
  /** The connections that the server closes when the key is deleted: `its sockets`. */
  readonly closes: string
  readonly deleteEffect: (key: Listed) => ComponentChildren
}

function KeysSection<Listed extends ApiKey | ProvisioningKey>(props: KeysSectionProps<Listed>) {
  const { kind, mayCreate, mayDelete, empty, usage, closes, forbidden } = props
  const keys = useCall(props.read, [])
  const [created, setCreated] = useState<CreatedKey>()
  const columns: readonly Column<Listed>[] = [
    { title: 'Name', cell: ({ name }) => name },
    { title: 'Id', cell: ({ id }) => <code>{id}</code> },
    ...props.columns,
    { title: 'Created', cell: ({ createdAt }) => <Time at={createdAt} /> },
    { title: 'Expires', cell: ({ expiresAt }) => (expiresAt === undefined ? 'never' : <Time at={expiresAt} />) },
    actionsColumn(
      (key) =>
        mayDelete && (
          <ConfirmButton
            button="Delete"
            buttonKind="quiet"
            label={`Delete ${key.name}`}
            title={`Delete the key ${key.name}?`}
            confirm="Delete the key"
            onConfirm={() => withExplanation(props.remove(key), { 403: forbidden })}
            done={`The key ${key.name} is deleted, and ${closes} are closed`}
            onDone={keys.refresh}
          >
            <p>{props.deleteEffect(key)}</p>
          </ConfirmButton>
        ),
    ),
  ]
  const onCreated = (key: CreatedKey) => {
    setCreated(key)
    keys.refresh()
  }
  return (
    <Section
      title={`${kind.charAt(0).toUpperCase()}${kind.slice(1)}s`}
      actions={
        mayCreate && (
          <DialogButton kind="primary" button={`New ${kind}`} title={`New ${kind}`}>
            <KeyForm {...props} onCreated={onCreated} />
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
      <CallTable caption={`List of ${kind}s`} columns={columns} call={keys} rowKey={({ id }) => id} empty={empty} />
    </Section>
  )
}

interface KeyFormProps extends Pick<KeysSectionProps<never>, 'kind' | 'nameHint' | 'fields' | 'create' | 'forbidden'> {
  readonly onCreated: (created: CreatedKey) => void
}

function KeyForm({ kind, nameHint, fields, create, forbidden, onCreated }: KeyFormProps) {
  const { values, field } = useFields(noKey)
  const submit = async () => {
    const name = values.name.trim()
    const { key } = await withExplanation(create({ ...values, name }), { 403: forbidden })
    onCreated({ name, key })
  }
  return (
    <Form label={`New ${kind}`} submit="Create key" onSubmit={submit} isUnsaved="touched">
      <TextField label="Name" hint={nameHint} {...field('name')} maxLength={64} isRequired hasFocus />
      {fields(field)}
      <Select label="Valid" {...field('lifetime')} options={keyLifetimes} />
    </Form>
  )
}

const apiKeyColumns: readonly Column<ApiKey>[] = [{ title: 'Roles', cell: ({ roles }) => <RoleNames roles={roles} /> }]

/** Keys for programs. A program has the roles of its key. Contract 2. */
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
          A program with an API key has the roles of the key.
          {mayCreate && ' Create one above, or on the command line.'}
        </Empty>
      }
      nameHint="The name of the program."
      fields={(field) => <RoleChoice {...field('roles')} />}
      create={({ name, roles, lifetime }) => {
        const body = { name, roles: [...roles], ...expiresIn(lifetime) }
        return client.call('POST /iam/api-keys', { query: tenantQuery(), body })
      }}
      usage={({ key }) => (
        <>
          <p>Programs send it with every request:</p>
          <Command command={`curl -H 'X-API-Key: ${key}' ${apiUrl()}/devices`} />
        </>
      )}
      remove={({ id }) => client.call('DELETE /iam/api-keys/:id', { parameters: { id }, query: tenantQuery() })}
      forbidden={missingPermissions}
      closes="its sockets"
      deleteEffect={({ name, roles }) =>
        `Programs that use ${name} are refused from now on, and their sockets are closed. Roles of the key: ${
          roles.join(', ') || 'none'
        }.`
      }
    />
  )
}

/** Contract 2. */
const allDevicesNeeded = 'A provisioning key applies to all devices, so you need permission on all devices.'
const allDevices = { deviceIdentifier: '*' }

const provisioningKeyColumns: readonly Column<ProvisioningKey>[] = [
  { title: 'Devices', align: 'end', cell: ({ devices }) => devices },
  { title: 'Limit', align: 'end', cell: ({ maxDevices }) => maxDevices ?? 'no limit' },
]

/** Keys for gateways that register devices and report for them. Contract 2, 7. */
export function ProvisioningKeys() {
  const tenant = tenantName()
  const mayCreate = mayInTenant('device', 'create', allDevices)
  return (
    <KeysSection
      kind="provisioning key"
      read={() => client.call('GET /iam/provisioning-keys', { query: tenantQuery() })}
      mayCreate={mayCreate}
      mayDelete={mayInTenant('device', 'delete', allDevices)}
      columns={provisioningKeyColumns}
      empty={
        <Empty
          title="No provisioning keys"
          command={
            mayCreate ? `npm run -s admin -- key add provisioning hall-3 --max-devices 200${tenantOption()}` : undefined
          }
        >
          {mayCreate
            ? 'With a provisioning key a gateway registers devices and reports for them. Create one above, or on the command line.'
            : 'To create one, you need permission to create devices with any identifier.'}
        </Empty>
      }
      nameHint="For example a gateway or a hall."
      fields={(field) => (
        <NumberField
          label="Maximum devices"
          hint="The number of devices that the key may register. Empty: no limit."
          {...field('maxDevices')}
          min={1}
          step={1}
        />
      )}
      create={({ name, maxDevices, lifetime }) => {
        const body = { name, ...(maxDevices !== undefined && { maxDevices }), ...expiresIn(lifetime) }
        return client.call('POST /iam/provisioning-keys', { query: tenantQuery(), body })
      }}
      usage={({ key }) => (
        <>
          <p>
            A gateway connects with the user name <code>{tenant === defaultTenant ? '*' : `${tenant}/*`}</code> and this
            key as its password. So does a simulated fleet:
          </p>
          <Command command={fleetCommand({ key, tenant })} />
        </>
      )}
      remove={({ id }) =>
        client.call('DELETE /iam/provisioning-keys/:id', { parameters: { id }, query: tenantQuery() })
      }
      forbidden={allDevicesNeeded}
      closes="its connections"
      deleteEffect={({ name, devices }) =>
        `All connections that use ${name} are closed at once, and its ${countText(devices, 'device')} cannot reconnect with it. The devices and their values stay.`
      }
    />
  )
}

/** The keys that sign tokens: replaced automatically after 90 days, or by hand. Contract 2, Tokens. */
export function SigningKeys() {
  const keys = useCall(() => client.call('GET /iam/signing-keys'), [])
  const tooEarly = 'The signing key was replaced less than a minute ago.'
  return (
    <Section
      title="Signing keys"
      actions={
        mayUser('tenants', 'create') && (
          <ConfirmButton
            button="Replace the signing key"
            confirm="Replace"
            kind="primary"
            onConfirm={() => withExplanation(client.call('POST /iam/signing-keys'), { 409: tooEarly })}
            done="Tokens are signed with a new key from now on"
            onDone={keys.refresh}
          >
            <p>
              Tokens of all tenants are signed with a new key from now on. The previous key stays valid until its last
              token has expired, so no user is signed out.
            </p>
          </ConfirmButton>
        )
      }
    >
      <CallTable
        caption="List of signing keys"
        call={keys}
        rowKey={({ kid }) => kid}
        columns={[
          { title: 'Key', cell: ({ kid }) => <code>{kid}</code> },
          {
            title: 'State',
            cell: ({ retiresAt }) =>
              retiresAt === undefined ? (
                <Status state="current" />
              ) : (
                <Status state="inactive">
                  still valid, retires <Time at={retiresAt} />
                </Status>
              ),
          },
          { title: 'Created', cell: ({ createdAt }) => <Time at={createdAt} /> },
        ]}
      />
    </Section>
  )
}
