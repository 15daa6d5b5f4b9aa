import { Button } from '#dashboard/components/button'
import { ConcurrentEdit, changedFields, type Edit, replacedFields } from '#dashboard/components/concurrent-edit'
import { Command } from '#dashboard/components/copy-button'
import { ConfirmButton, DialogButton } from '#dashboard/components/dialog'
import { Checkbox, Select, TextField, useFields } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { navigateTo, pathOf } from '#dashboard/components/link'
import { Section } from '#dashboard/components/page'
import { withExplanation } from '#dashboard/components/problem-text'
import { Badge } from '#dashboard/components/status'
import { actionsColumn, CallTable, type Column } from '#dashboard/components/table'
import { Time } from '#dashboard/components/time'
import { notify } from '#dashboard/components/toasts'
import { useCall } from '#dashboard/components/use-call'
import { parseNames } from '#dashboard/pages/administration/grants'
import { selectedTenant } from '#dashboard/pages/administration/tenant-choice'
import { client, mayUser, session } from '#dashboard/session'
import type { TenantEntry } from '#model/tenant'

/** Tenants, for users of tenant `default` with permission on `tenants`. Contract 2. */
export function Tenants() {
  const tenants = useCall(() => client.call('GET /iam/tenants'), [])

  const columns: readonly Column<TenantEntry>[] = [
    {
      title: 'Tenant',
      cell: ({ tenantIdentifier, name }) => (
        <>
          {name} <code class="soft">{tenantIdentifier}</code>{' '}
          {tenantIdentifier === session.value.tenant && <Badge tone="good">your tenant</Badge>}
        </>
      ),
    },
    { title: 'Hosts', cell: ({ hosts = [] }) => hosts.join(', ') || <span class="soft">any host</span> },
    { title: 'Second factor', cell: ({ twoFactor }) => twoFactor },
    { title: 'Basic scheme', cell: ({ basic }) => (basic ? 'on' : 'off') },
    { title: 'Created', cell: ({ createdAt }) => <Time at={createdAt} /> },
    actionsColumn((tenant) => <TenantActions tenant={tenant} onChanged={tenants.refresh} />),
  ]
  return (
    <Section
      title="Tenants"
      actions={
        mayUser('tenants', 'create') && (
          <DialogButton kind="primary" button="New tenant" title="New tenant">
            <TenantForm onSaved={tenants.refresh} />
          </DialogButton>
        )
      }
    >
      <CallTable
        caption="List of tenants"
        columns={columns}
        call={tenants}
        rowKey={({ tenantIdentifier }) => tenantIdentifier}
      />
      {tenants.value?.length === 1 && mayUser('tenants', 'create') && (
        <div class="prose">
          <p>
            There is one tenant. A second one has its own users, roles and devices, and cannot see the first one. Create
            it above, or on the command line:
          </p>
          <Command command="npm run admin -- tenant add acme --name Acme" />
        </div>
      )}
    </Section>
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
      {mayUser('tenants', 'update') && (
        <DialogButton button="Change" kind="quiet" label={`Change ${name}`} title={`Change ${name}`}>
          <ConcurrentEdit current={tenant} subject="this tenant" isAlwaysDirty>
            {({ initial, check }) => <TenantForm tenant={initial} check={check} onSaved={onChanged} />}
          </ConcurrentEdit>
        </DialogButton>
      )}
      {mayUser('tenants', 'delete') && !isOwn && (
        <ConfirmButton
          button="Delete"
          buttonKind="quiet"
          label={`Delete ${name}`}
          title={`Delete tenant ${tenantIdentifier}?`}
          confirm="Delete tenant and all data"
          typed={tenantIdentifier}
          onConfirm={async () => {
            await client.call('DELETE /iam/tenants/:tenantIdentifier', { parameters: { tenantIdentifier } })
            if (selectedTenant.value === tenantIdentifier) selectedTenant.set(undefined)
          }}
          done={`Tenant ${tenantIdentifier} is closed, and its data is being deleted`}
          onDone={onChanged}
        >
          <p>
            Deletes {name}, with its users, roles, keys, devices, values, alarms, functions and firmware. All its
            connections are closed at once, and its data is deleted in the background. This cannot be undone.
          </p>
        </ConfirmButton>
      )}
    </div>
  )
}

const policies = (['optional', 'required'] as const).map((value) => ({ value, label: value }))

interface TenantFormProps extends Partial<Pick<Edit<TenantEntry>, 'check'>> {
  readonly tenant?: TenantEntry
  readonly onSaved: () => void
}

/** Changes a tenant, or creates one. */
function TenantForm({ tenant, check, onSaved }: TenantFormProps) {
  const { values, field } = useFields(() => ({
    tenantIdentifier: tenant?.tenantIdentifier ?? '',
    name: tenant?.name ?? '',
    hosts: (tenant?.hosts ?? []).join('\n'),
    twoFactor: tenant?.twoFactor ?? 'optional',
    basic: tenant?.basic ?? true,
  }))
  const { tenantIdentifier, name, twoFactor, basic } = values
  const hosts = parseNames(values.hosts)
  const isOwn = tenantIdentifier === session.value.tenant

  const save = async () => {
    const body = { name: name.trim(), hosts, twoFactor, basic }
    if (tenant) {
      const parameters = { tenantIdentifier }
      const changed = changedFields<typeof body>({ ...tenant, hosts: tenant.hosts ?? [] }, body)
      if (Object.keys(changed).length === 0) return
      const precondition = await check?.(
        () => client.call('GET /iam/tenants/:tenantIdentifier', { parameters }),
        (stored) => replacedFields(stored, changed),
      )
      await client.call('PATCH /iam/tenants/:tenantIdentifier', { ...precondition, parameters, body: changed })
    } else {
      const call = client.call('POST /iam/tenants', { body: { ...body, tenantIdentifier } })
      const isBeingDeleted = 'The data of a deleted tenant with this name is still being removed. Try again later.'
      await withExplanation(call, { 409: (error) => (error.includes('deleted') ? isBeingDeleted : undefined) })
    }
    notify(`Tenant ${tenantIdentifier} is ${tenant ? 'saved' : 'created'}`)
    onSaved()
  }
  return (
    <Form label="Tenant" submit={tenant ? 'Save' : 'Create tenant'} onSubmit={save} isUnsaved="touched">
      {!tenant && (
        <TextField
          label="Identifier"
          hint="1 to 63 characters: a–z, 0–9 and -. It cannot be changed later."
          isCode
          {...field('tenantIdentifier')}
          maxLength={63}
          isRequired
          hasFocus
        />
      )}
      <TextField label="Name" hint="For display." {...field('name')} maxLength={128} isRequired />
      <TextField
        label="Hosts"
        hint="Users can sign in only under these host names, such as devices.acme.example; one for each line. Empty: any host."
        rows={2}
        isCode
        {...field('hosts')}
        problem={isOwn ? lockoutWarning(hosts) : undefined}
      />
      <Select
        label="Second factor"
        hint="Required: users without one set it up at the next sign-in."
        {...field('twoFactor')}
        options={policies}
      />
      <Checkbox
        label="Basic scheme: sign in with only a password"
        hint="Off: sign-in needs a key of the browser or program (DPoP). The command line then needs an API key."
        {...field('basic')}
      />
    </Form>
  )
}

/** For the user's own tenant: a warning with the current host, if the change would lock the user out. */
function lockoutWarning(hosts: readonly string[]): string | undefined {
  const { host, hostname } = location
  if (hosts.length === 0 || hosts.some((one) => [host, hostname].includes(one.toLowerCase()))) return undefined
  return `The list does not include ${host}, your current host: you would not be able to sign in here again.`
}
