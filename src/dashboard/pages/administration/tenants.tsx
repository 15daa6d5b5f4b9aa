import { useState } from 'preact/hooks'
import { Button } from '#dashboard/components/button'
import { ConcurrentEdit, changedFields, type Edit, replacedFields } from '#dashboard/components/concurrent-edit'
import { ConfirmButton, DialogButton } from '#dashboard/components/dialog'
import { Command } from '#dashboard/components/empty-state'
import { Checkbox, Select, TextField } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { navigateTo, pathOf } from '#dashboard/components/link'
import { CallResult, Section } from '#dashboard/components/page'
import { withExplanation } from '#dashboard/components/problem-text'
import { Badge } from '#dashboard/components/status'
import { actionsColumn, type Column, Table } from '#dashboard/components/table'
import { Time } from '#dashboard/components/time'
import { notify } from '#dashboard/components/toasts'
import { useCall } from '#dashboard/components/use-call'
import { parseNames } from '#dashboard/pages/administration/grants'
import { mayTenants, selectedTenant } from '#dashboard/pages/administration/tenant-choice'
import { client, session } from '#dashboard/session'
import type { TenantEntry } from '#model/tenant'

/** Tenants, for holders of `tenants` in tenant `default`. Contract 2. */
export function Tenants() {
  const tenants = useCall(() => client.call('GET /iam/tenants'), [])

  const columns: readonly Column<TenantEntry>[] = [
    { key: 'name', title: 'Tenant', cell: (tenant) => <TenantName tenant={tenant} /> },
    {
      key: 'hosts',
      title: 'Hosts',
      cell: ({ hosts = [] }) => hosts.join(', ') || <span class="soft">any host</span>,
    },
    { key: 'factor', title: 'Second factor', cell: ({ twoFactor }) => twoFactor },
    { key: 'basic', title: 'Basic scheme', cell: ({ basic }) => (basic ? 'on' : 'off') },
    { key: 'created', title: 'Created', cell: ({ createdAt }) => <Time at={createdAt} /> },
    actionsColumn((tenant) => <TenantActions tenant={tenant} onChanged={tenants.refresh} />),
  ]
  return (
    <Section
      title="Tenants"
      actions={
        mayTenants('create') && (
          <DialogButton kind="primary" button="New tenant" title="New tenant">
            {(close) => <TenantForm onClose={close} onSaved={tenants.refresh} />}
          </DialogButton>
        )
      }
    >
      <CallResult call={tenants}>
        {(list) => (
          <>
            <Table
              caption="List of tenants"
              columns={columns}
              rows={list}
              rowKey={({ tenantIdentifier }) => tenantIdentifier}
            />
            {list.length === 1 && mayTenants('create') && <FirstTenantHint />}
          </>
        )}
      </CallResult>
    </Section>
  )
}

async function deleteTenant({ tenantIdentifier }: TenantEntry): Promise<void> {
  await client.call('DELETE /iam/tenants/:tenantIdentifier', { parameters: { tenantIdentifier } })
  if (selectedTenant.value === tenantIdentifier) selectedTenant.set(undefined)
  notify(`Tenant ${tenantIdentifier} is closed, and its data is being deleted`)
}

function TenantName({ tenant: { tenantIdentifier, name } }: { readonly tenant: TenantEntry }) {
  return (
    <>
      {name} <code class="soft">{tenantIdentifier}</code>{' '}
      {tenantIdentifier === session.value.tenant && <Badge tone="good">your tenant</Badge>}
    </>
  )
}

function TenantActions({ tenant, onChanged }: { readonly tenant: TenantEntry; readonly onChanged: () => void }) {
  const { tenantIdentifier, name } = tenant
  const isOwn = tenantIdentifier === session.value.tenant
  return (
    <div class="actions">
      {!isOwn && (
        <Button
          kind="quiet"
          label={`Users of ${name}`}
          onPress={() => {
            selectedTenant.set(tenantIdentifier)
            navigateTo(pathOf('administration', 'users'))
          }}
        >
          Users
        </Button>
      )}
      {mayTenants('update') && (
        <DialogButton button="Change" kind="quiet" label={`Change ${name}`} title={`Change ${name}`}>
          {(close) => <TenantForm tenant={tenant} onClose={close} onSaved={onChanged} />}
        </DialogButton>
      )}
      {mayTenants('delete') && !isOwn && (
        <ConfirmButton
          button="Delete"
          buttonKind="quiet"
          label={`Delete ${name}`}
          title={`Delete tenant ${tenantIdentifier}?`}
          confirm="Delete tenant and all data"
          typed={tenantIdentifier}
          onConfirm={async () => {
            await deleteTenant(tenant)
            onChanged()
          }}
        >
          <p>
            {name}: its users, roles, keys, devices with their values, alarms, functions and firmware. All its
            connections are closed at once, and its data is deleted in the background. This cannot be undone.
          </p>
        </ConfirmButton>
      )}
    </div>
  )
}

function FirstTenantHint() {
  return (
    <div class="prose">
      <p>
        There is one tenant. A second one has its own users, roles and devices, and cannot see the first one. Create it
        above, or on the command line:
      </p>
      <Command command="npm run admin -- tenant add acme --name Acme" />
    </div>
  )
}

const policies = [
  { value: 'optional', label: 'optional' },
  { value: 'required', label: 'required' },
] as const

interface TenantFormProps {
  readonly tenant?: TenantEntry | undefined
  readonly onSaved: () => void
  readonly onClose: () => void
}

/** Creates a tenant, or changes the given one. */
function TenantForm(props: TenantFormProps) {
  if (!props.tenant) return <TenantFields {...props} />
  return (
    <ConcurrentEdit current={props.tenant} subject="this tenant" isAlwaysDirty>
      {({ initial, check }) => <TenantFields {...props} tenant={initial} check={check} />}
    </ConcurrentEdit>
  )
}

function TenantFields({
  tenant,
  check,
  onSaved,
  onClose,
}: TenantFormProps & Partial<Pick<Edit<TenantEntry>, 'check'>>) {
  const [tenantIdentifier, setIdentifier] = useState(tenant?.tenantIdentifier ?? '')
  const [name, setName] = useState(tenant?.name ?? '')
  const [hosts, setHosts] = useState((tenant?.hosts ?? []).join('\n'))
  const [twoFactor, setTwoFactor] = useState<TenantEntry['twoFactor']>(tenant?.twoFactor ?? 'optional')
  const [basic, setBasic] = useState(tenant?.basic ?? true)
  const hostList = parseNames(hosts)
  const isOwn = tenantIdentifier === session.value.tenant

  const save = async () => {
    const body = { name: name.trim(), hosts: hostList, twoFactor, basic }
    if (tenant) {
      const parameters = { tenantIdentifier }
      const changed = changedFields<typeof body>({ ...tenant, hosts: tenant.hosts ?? [] }, body)
      if (Object.keys(changed).length === 0) return onClose()
      const precondition = await check?.(
        () => client.call('GET /iam/tenants/:tenantIdentifier', { parameters }),
        (stored) => replacedFields(stored, changed),
      )
      await client.call('PATCH /iam/tenants/:tenantIdentifier', { ...precondition, parameters, body: changed })
    } else {
      const call = client.call('POST /iam/tenants', { body: { ...body, tenantIdentifier } })
      await withExplanation(call, {
        409: (error) =>
          error.includes('deleted')
            ? 'The data of a deleted tenant with this name is still being removed. Try again later.'
            : undefined,
      })
    }
    notify(`Tenant ${tenantIdentifier} is ${tenant ? 'changed' : 'created'}`)
    onClose()
    onSaved()
  }
  return (
    <Form
      label="Tenant"
      submit={tenant ? 'Save' : 'Create tenant'}
      onSubmit={save}
      onCancel={onClose}
      isUnsaved="touched"
    >
      {!tenant && (
        <TextField
          label="Identifier"
          hint="1 to 63 characters: a–z, 0–9 and -. It cannot be changed later."
          isCode
          value={tenantIdentifier}
          onInput={setIdentifier}
          maxLength={63}
          isRequired
          hasFocus
        />
      )}
      <TextField label="Name" hint="For display." value={name} onInput={setName} maxLength={128} isRequired />
      <TextField
        label="Hosts"
        hint="Users can sign in only under these host names, such as devices.acme.example; one for each line. Empty: any host."
        rows={2}
        isCode
        value={hosts}
        onInput={setHosts}
        problem={isOwn ? lockoutWarning(hostList) : undefined}
      />
      <Select
        label="Second factor"
        hint="Required: users without one set it up at the next sign-in."
        value={twoFactor}
        options={policies}
        onChange={setTwoFactor}
      />
      <Checkbox
        label="Basic scheme: sign in with only a password"
        hint="Off: sign-in needs a key of the browser or program (DPoP). The command line then needs an API key."
        isChecked={basic}
        onChange={setBasic}
      />
    </Form>
  )
}

/** For the user's own tenant: the current host, if the change would lock the user out. */
function lockoutWarning(hosts: readonly string[]): string | undefined {
  const { host, hostname } = location
  if (hosts.length === 0 || hosts.some((one) => [host, hostname].includes(one.toLowerCase()))) return undefined
  return `The list does not include ${host}, your current host: you would not be able to sign in here again.`
}
