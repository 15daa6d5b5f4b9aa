import { useState } from 'preact/hooks'
import { GrantFields } from '#dashboard/pages/administration/grant-fields'
import { firstGrant, namesText, permissionsText } from '#dashboard/pages/administration/grants'
import { DeleteRole } from '#dashboard/pages/administration/role-deletion'
import { type RoleDraft, RoleEditor } from '#dashboard/pages/administration/role-editor'
import { mayHere, tenantOption, tenantQuery } from '#dashboard/pages/administration/tenant-choice'
import { Button } from '#dashboard/parts/button'
import { Dialog } from '#dashboard/parts/dialog'
import { Command } from '#dashboard/parts/empty'
import { Answered, Section } from '#dashboard/parts/page'
import { Badge } from '#dashboard/parts/status'
import { type Column, Table } from '#dashboard/parts/table'
import { useCall } from '#dashboard/parts/use-call'
import { client } from '#dashboard/session'
import type { RoleEntry } from '#model/role'
import type { Grant } from '#model/scope'

/** What users and keys may do, by name. Contract 2. */
export function Roles() {
  const roles = useCall(() => client.call('GET /iam/roles', { query: tenantQuery() }), [])
  const [draft, setDraft] = useState<RoleDraft>()
  const [read, setRead] = useState<RoleEntry>()
  const close = () => setDraft(undefined)
  const mayCreate = mayHere('roles', 'create')
  const taken = (roles.value ?? []).map(({ name }) => name)

  const columns: readonly Column<RoleEntry>[] = [
    { key: 'name', title: 'Role', cell: (role) => <RoleName role={role} /> },
    { key: 'grants', title: 'What it gives', isText: true, cell: ({ grants }) => <GrantLines grants={grants} /> },
    {
      key: 'actions',
      title: <span class="hidden">Actions</span>,
      cell: (role) => (
        <div class="actions">
          {mayHere('roles', 'update') && !role.builtIn ? (
            <Button kind="quiet" label={`Change ${role.name}`} onPress={() => setDraft(role)}>
              Change
            </Button>
          ) : (
            <Button kind="quiet" label={`Show ${role.name}`} onPress={() => setRead(role)}>
              Show
            </Button>
          )}
          {mayCreate && (
            <Button kind="quiet" label={`Copy ${role.name}`} onPress={() => setDraft({ grants: role.grants })}>
              Copy
            </Button>
          )}
          {mayHere('roles', 'delete') && !role.builtIn && <DeleteRole role={role} onDeleted={roles.again} />}
        </div>
      ),
    },
  ]
  return (
    <Section
      title="Roles"
      actions={
        mayCreate && (
          <Button kind="primary" onPress={() => setDraft({ grants: [firstGrant] })}>
            New role
          </Button>
        )
      }
    >
      <Answered called={roles}>
        {(list) => (
          <>
            <Table caption="List of roles" columns={columns} rows={list} rowKey={({ name }) => name} />
            {list.every(({ builtIn }) => builtIn) && mayCreate && <OwnRoles />}
          </>
        )}
      </Answered>
      <Dialog
        title={draft?.name === undefined ? 'New role' : `Role ${draft.name}`}
        isOpen={draft !== undefined}
        onClose={close}
        isWide
      >
        {draft && (
          <RoleEditor
            draft={draft}
            taken={taken}
            onCancel={close}
            onSaved={() => {
              close()
              roles.again()
            }}
          />
        )}
      </Dialog>
      <Dialog title={`Role ${read?.name ?? ''}`} isOpen={read !== undefined} onClose={() => setRead(undefined)} isWide>
        {read && <RoleShown role={read} />}
      </Dialog>
    </Section>
  )
}

function RoleName({ role: { name, builtIn } }: { readonly role: RoleEntry }) {
  return (
    <>
      {name} {builtIn && <Badge>built in</Badge>}
    </>
  )
}

function GrantLines({ grants }: { readonly grants: readonly Grant[] }) {
  if (grants.length === 0) return <span class="soft">nothing</span>
  return (
    <>
      {grants.map((grant, place) => (
        <div key={place}>
          {permissionsText(grant)} — on {namesText(grant.devices, 'device')}, {namesText(grant.services, 'service')}
        </div>
      ))}
    </>
  )
}

function RoleShown({ role: { grants, builtIn } }: { readonly role: RoleEntry }) {
  return (
    <>
      {builtIn && <p>Made with the server, and changed by nobody. Copy it to make one of your own from it.</p>}
      {grants.map((grant, place) => (
        <GrantFields key={place} grant={grant} number={place + 1} />
      ))}
    </>
  )
}

/** Where there are only those that every tenant has. */
function OwnRoles() {
  return (
    <div class="prose">
      <p>
        There is no role of your own yet. Make one above for whoever should see some devices only, or only one kind of
        service; or from a file:
      </p>
      <Command command={`npm run admin -- role put wall --file wall.json${tenantOption()}`} />
    </div>
  )
}
