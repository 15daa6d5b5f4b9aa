import { useState } from 'preact/hooks'
import { type Invitation, InvitationShown } from '#dashboard/pages/administration/invitation'
import { mayHere, tenantOption, tenantQuery } from '#dashboard/pages/administration/tenant-choice'
import { UserActions } from '#dashboard/pages/administration/user-actions'
import { InviteForm } from '#dashboard/pages/administration/user-forms'
import { Button } from '#dashboard/parts/button'
import { Dialog } from '#dashboard/parts/dialog'
import { Empty } from '#dashboard/parts/empty'
import { TextField } from '#dashboard/parts/fields'
import { Section } from '#dashboard/parts/page'
import { PagedTable } from '#dashboard/parts/paged-table'
import { Badge, Status } from '#dashboard/parts/status'
import type { Column } from '#dashboard/parts/table'
import { Time } from '#dashboard/parts/time'
import { usePages } from '#dashboard/parts/use-pages'
import { client, session } from '#dashboard/session'
import type { UserEntry } from '#model/user'

/** Who may sign in, and as what. Contract 2. */

const pageSize = 200

export function Users() {
  const users = usePages(
    () => client.pages('GET /iam/users', { query: { ...tenantQuery(), limit: `${pageSize}` } }),
    pageSize,
    [],
  )
  const [isInviting, setInviting] = useState(false)
  const [invitation, setInvitation] = useState<Invitation>()
  const [search, setSearch] = useState('')
  const wanted = search.trim().toLowerCase()

  const columns: readonly Column<UserEntry>[] = [
    { key: 'name', title: 'Name', cell: ({ name }) => <UserName name={name} /> },
    { key: 'email', title: 'E-mail', cell: ({ email }) => email ?? <span class="soft">none</span> },
    { key: 'roles', title: 'Roles', cell: ({ roles }) => <RoleNames roles={roles} /> },
    { key: 'state', title: 'State', cell: ({ state }) => <Status state={state} /> },
    { key: 'factors', title: 'Second factor', cell: ({ twoFactor }) => <Factors factors={twoFactor} /> },
    { key: 'created', title: 'Since', cell: ({ createdAt }) => <Time at={createdAt} /> },
    {
      key: 'actions',
      title: <span class="hidden">Actions</span>,
      cell: (user) => <UserActions user={user} onChanged={users.again} onInvited={setInvitation} />,
    },
  ]
  return (
    <Section
      title="Users"
      actions={
        mayHere('users', 'create') && (
          <Button kind="primary" onPress={() => setInviting(true)}>
            Invite somebody
          </Button>
        )
      }
    >
      {invitation && <InvitationShown invitation={invitation} onPutAway={() => setInvitation(undefined)} />}
      <TextField
        label="Search"
        type="search"
        value={search}
        onInput={setSearch}
        hint={users.hasMore ? searchHint : undefined}
      />
      <PagedTable
        caption="List of users"
        columns={columns}
        rowKey={({ name }) => name}
        paged={users}
        shown={(rows) => rows.filter((user) => isWanted(user, wanted))}
        empty={<NobodyFound isSearched={wanted !== ''} />}
      />
      <Dialog title="Invite somebody" isOpen={isInviting} onClose={() => setInviting(false)}>
        <InviteForm
          onCancel={() => setInviting(false)}
          onInvited={(made) => {
            setInviting(false)
            setInvitation(made)
            users.again()
          }}
        />
      </Dialog>
    </Section>
  )
}

const searchHint = 'Among those that are shown.'

/** By name, address, role or state. */
function isWanted({ name, email = '', roles, state }: UserEntry, wanted: string): boolean {
  return [name, email, state, ...roles].some((text) => text.toLowerCase().includes(wanted))
}

function NobodyFound({ isSearched }: { readonly isSearched: boolean }) {
  if (isSearched)
    return <Empty title="Nobody is found">Search for part of a name, an address, a role or a state.</Empty>
  return (
    <Empty title="Nobody is here yet" command={`npm run admin -- user add ann --role operator${tenantOption()}`}>
      Invite somebody above, or from the command line: both make a code to sign up with.
    </Empty>
  )
}

function UserName({ name }: { readonly name: string }) {
  return (
    <>
      {name} {name === session.value.name && <Badge tone="good">you</Badge>}
    </>
  )
}

export function RoleNames({ roles }: { readonly roles: readonly string[] }) {
  if (roles.length === 0) return <span class="soft">none</span>
  return (
    <>
      {roles.map((role) => (
        <Badge key={role}>{role}</Badge>
      ))}
    </>
  )
}

function Factors({ factors }: { readonly factors: UserEntry['twoFactor'] }) {
  if (factors.length === 0) return <span class="soft">none</span>
  return <>{factors.map((factor) => (factor === 'totp' ? 'one-time codes' : 'security key')).join(', ')}</>
}
