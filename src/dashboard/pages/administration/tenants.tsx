import { useState } from 'preact/hooks'
import { chosenTenant, mayTenants } from '#dashboard/pages/administration/tenant-choice'
import { TenantForm } from '#dashboard/pages/administration/tenant-form'
import { Button } from '#dashboard/parts/button'
import { Confirm, Dialog } from '#dashboard/parts/dialog'
import { Command } from '#dashboard/parts/empty'
import { go, pathOf } from '#dashboard/parts/link'
import { Answered, Section } from '#dashboard/parts/page'
import { Badge } from '#dashboard/parts/status'
import { type Column, Table } from '#dashboard/parts/table'
import { Time } from '#dashboard/parts/time'
import { say } from '#dashboard/parts/toasts'
import { useCall } from '#dashboard/parts/use-call'
import { client, session } from '#dashboard/session'
import type { TenantEntry } from '#model/tenant'

/** Whom users, roles, devices and everything else belong to; for holders of `tenants` in tenant `default`. Contract 2. */
export function Tenants() {
  const tenants = useCall(() => client.call('GET /iam/tenants'), [])
  /** `new`: one that is made. */
  const [edited, edit] = useState<TenantEntry | 'new'>()
  const [deleted, remove] = useState<TenantEntry>()
  const close = () => edit(undefined)
  const before = edited === 'new' ? undefined : edited

  const columns: readonly Column<TenantEntry>[] = [
    { key: 'name', title: 'Tenant', cell: (tenant) => <TenantTitle tenant={tenant} /> },
    {
      key: 'hosts',
      title: 'Sign-in under',
      cell: ({ hosts = [] }) => hosts.join(', ') || <span class="soft">any host</span>,
    },
    { key: 'factor', title: 'Second factor', cell: ({ twoFactor }) => twoFactor },
    { key: 'basic', title: 'Basic scheme', cell: ({ basic }) => (basic ? 'on' : 'off') },
    { key: 'created', title: 'Since', cell: ({ createdAt }) => <Time at={createdAt} /> },
    {
      key: 'actions',
      title: <span class="hidden">Actions</span>,
      cell: (tenant) => <TenantActions tenant={tenant} onEdit={() => edit(tenant)} onDelete={() => remove(tenant)} />,
    },
  ]
  return (
    <Section
      title="Tenants"
      actions={
        mayTenants('create') && (
          <Button kind="primary" onPress={() => edit('new')}>
            New tenant
          </Button>
        )
      }
    >
      <Answered called={tenants}>
        {(list) => (
          <>
            <Table
              caption="List of tenants"
              columns={columns}
              rows={list}
              rowKey={({ tenantIdentifier }) => tenantIdentifier}
            />
            {list.length === 1 && mayTenants('create') && <OnlyOne />}
          </>
        )}
      </Answered>
      <Dialog title={before ? `Change ${before.name}` : 'New tenant'} isOpen={edited !== undefined} onClose={close}>
        <TenantForm
          tenant={before}
          onCancel={close}
          onSaved={() => {
            close()
            tenants.again()
          }}
        />
      </Dialog>
      <Confirm
        title={`Delete tenant ${deleted?.tenantIdentifier ?? ''}?`}
        isOpen={deleted !== undefined}
        onClose={() => remove(undefined)}
        confirm="Delete it with everything in it"
        typed={deleted?.tenantIdentifier}
        onConfirm={async () => {
          if (deleted) await end(deleted)
          tenants.again()
        }}
      >
        <p>
          {deleted?.name}: its users, roles, keys, devices with their values, alarms, functions and firmware. All its
          sockets and links are closed at once, and everything is swept in the background. It cannot be taken back.
        </p>
      </Confirm>
    </Section>
  )
}

async function end({ tenantIdentifier }: TenantEntry): Promise<void> {
  await client.call('DELETE /iam/tenants/:tenantIdentifier', { parameters: { tenantIdentifier } })
  if (chosenTenant.value === tenantIdentifier) chosenTenant.value = undefined
  say(`Tenant ${tenantIdentifier} is unreachable, and is being swept`)
}

function TenantTitle({ tenant: { tenantIdentifier, name } }: { readonly tenant: TenantEntry }) {
  return (
    <>
      {name} <code class="soft">{tenantIdentifier}</code>{' '}
      {tenantIdentifier === session.value.tenant && <Badge tone="good">your own</Badge>}
    </>
  )
}

function TenantActions({
  tenant: { tenantIdentifier, name },
  onEdit,
  onDelete,
}: {
  readonly tenant: TenantEntry
  readonly onEdit: () => void
  readonly onDelete: () => void
}) {
  const isOwn = tenantIdentifier === session.value.tenant
  return (
    <div class="actions">
      {!isOwn && (
        <Button
          kind="quiet"
          label={`Users of ${name}`}
          onPress={() => {
            chosenTenant.value = tenantIdentifier
            go(pathOf('administration', 'users'))
          }}
        >
          Users
        </Button>
      )}
      {mayTenants('update') && (
        <Button kind="quiet" label={`Change ${name}`} onPress={onEdit}>
          Change
        </Button>
      )}
      {mayTenants('delete') && !isOwn && (
        <Button kind="quiet" label={`Delete ${name}`} onPress={onDelete}>
          Delete
        </Button>
      )}
    </div>
  )
}

function OnlyOne() {
  return (
    <div class="prose">
      <p>
        Everything belongs to one tenant. A second one has users, roles and devices of its own, and sees nothing of the
        first. Make it above, or from the command line:
      </p>
      <Command command="npm run admin -- tenant add acme --name Acme" />
    </div>
  )
}
