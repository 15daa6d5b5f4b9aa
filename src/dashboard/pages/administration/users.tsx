import { useRef, useState } from 'preact/hooks'
import { type Invitation, InvitationShown } from '#dashboard/pages/administration/one-time-secret'
import { mayHere, tenantOption, tenantQuery } from '#dashboard/pages/administration/tenant-choice'
import { beyond, EditForm, InviteForm, lastAdministrator } from '#dashboard/pages/administration/user-forms'
import { Button } from '#dashboard/parts/button'
import { Confirm, Dialog, DialogButton } from '#dashboard/parts/dialog'
import { Empty } from '#dashboard/parts/empty'
import { Checkbox, TextField } from '#dashboard/parts/fields'
import { Link, pathOf } from '#dashboard/parts/link'
import { Section } from '#dashboard/parts/page'
import { withExplanation } from '#dashboard/parts/problem-text'
import { Badge, Status } from '#dashboard/parts/status'
import { actionsColumn, type Column, PagedTable } from '#dashboard/parts/table'
import { Time } from '#dashboard/parts/time'
import { notify } from '#dashboard/parts/toasts'
import { usePages } from '#dashboard/parts/use-pages'
import { client, session } from '#dashboard/session'
import type { UserEntry } from '#model/user'

/** Users and their roles. Contract 2. */

const pageSize = 200

export function Users() {
  const users = usePages(
    () => client.pages('GET /iam/users', { query: { ...tenantQuery(), limit: `${pageSize}` } }),
    pageSize,
    [],
  )
  const [invitation, setInvitation] = useState<Invitation>()
  const [search, setSearch] = useState('')
  const wanted = search.trim().toLowerCase()

  const columns: readonly Column<UserEntry>[] = [
    { key: 'name', title: 'Name', cell: ({ name }) => <UserName name={name} /> },
    { key: 'email', title: 'E-mail', cell: ({ email }) => email ?? <span class="soft">none</span> },
    { key: 'roles', title: 'Roles', cell: ({ roles }) => <RoleNames roles={roles} /> },
    { key: 'state', title: 'State', cell: ({ state }) => <Status state={state} /> },
    { key: 'factors', title: 'Second factor', cell: ({ twoFactor }) => <Factors factors={twoFactor} /> },
    { key: 'created', title: 'Created', cell: ({ createdAt }) => <Time at={createdAt} /> },
    actionsColumn((user) => <UserActions user={user} onChanged={users.again} onInvited={setInvitation} />),
  ]
  return (
    <Section
      title="Users"
      actions={
        mayHere('users', 'create') && (
          <DialogButton kind="primary" button="Create invitation" title="Create invitation">
            {(close) => (
              <InviteForm
                onCancel={close}
                onInvited={(made) => {
                  close()
                  setInvitation(made)
                  users.again()
                }}
              />
            )}
          </DialogButton>
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
        empty={<NoUsers isSearched={wanted !== ''} />}
      />
    </Section>
  )
}

const searchHint = 'Searches the loaded users.'

/** Matches name, address, role or state. */
function isWanted({ name, email = '', roles, state }: UserEntry, wanted: string): boolean {
  return [name, email, state, ...roles].some((text) => text.toLowerCase().includes(wanted))
}

function NoUsers({ isSearched }: { readonly isSearched: boolean }) {
  if (isSearched) return <Empty title="No users found">Search for a part of a name, address, role or state.</Empty>
  return (
    <Empty title="No users" command={`npm run admin -- user add ann --role operator${tenantOption()}`}>
      Create an invitation above, or on the command line. Both give a code for the sign-up.
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

interface UserActionsProps {
  readonly user: UserEntry
  readonly onChanged: () => void
  readonly onInvited: (invitation: Invitation) => void
}

/** The open dialog; one at a time. */
type Asked = 'edit' | 'code' | 'disable' | 'delete' | undefined

/** The actions on one user that are permitted. */
function UserActions(props: UserActionsProps) {
  const [asked, ask] = useState<Asked>()
  // Dialogs are created on first use: hundreds of rows with four closed dialogs each would be thousands of elements.
  const wasAsked = useRef(false)
  if (asked !== undefined) wasAsked.current = true
  const { user, onChanged } = props
  const { name, state } = user
  const mayUpdate = mayHere('users', 'update')
  return (
    <div class="actions">
      {mayUpdate && (
        <>
          <Button kind="quiet" label={`Change ${name}`} onPress={() => ask('edit')}>
            Change
          </Button>
          <Button kind="quiet" label={`${codeVerb(user)} for ${name}`} onPress={() => ask('code')}>
            {codeVerb(user)}
          </Button>
        </>
      )}
      {mayUpdate && state === 'disabled' && (
        <Button kind="quiet" label={`Enable ${name}`} onPress={() => setState(user, 'active', onChanged)}>
          Enable
        </Button>
      )}
      {mayUpdate && state !== 'disabled' && (
        <Button kind="quiet" label={`Disable ${name}`} onPress={() => ask('disable')}>
          Disable
        </Button>
      )}
      {mayHere('users', 'delete') && (
        <Button kind="quiet" label={`Delete ${name}`} onPress={() => ask('delete')}>
          Delete
        </Button>
      )}
      {wasAsked.current && <UserDialogs {...props} asked={asked} onClose={() => ask(undefined)} />}
    </div>
  )
}

function UserDialogs({
  user,
  onChanged,
  onInvited,
  asked,
  onClose,
}: UserActionsProps & { readonly asked: Asked; readonly onClose: () => void }) {
  const { name } = user
  const signedOut = name === session.value.name && <strong> This is your own user: you are signed out.</strong>
  return (
    <>
      <Dialog title={`Change ${name}`} isOpen={asked === 'edit'} onClose={onClose}>
        <EditForm
          user={user}
          onCancel={onClose}
          onDone={() => {
            onClose()
            onChanged()
          }}
        />
      </Dialog>
      <CodeConfirm user={user} isOpen={asked === 'code'} onClose={onClose} onInvited={onInvited} />
      <Confirm
        title={`Disable ${name}?`}
        isOpen={asked === 'disable'}
        onClose={onClose}
        confirm={`Disable ${name}`}
        onConfirm={() => setState(user, 'disabled', onChanged)}
      >
        <p>
          All sessions of {name} end at once, with their sockets, and {name} cannot sign in until enabled again.
          {signedOut}
        </p>
      </Confirm>
      <Confirm
        title={`Delete ${name}?`}
        isOpen={asked === 'delete'}
        onClose={onClose}
        confirm={`Delete ${name}`}
        typed={name}
        onConfirm={() => remove(user, onChanged)}
      >
        <p>
          All sessions of {name} end at once, and the subscriptions of {name} are deleted. Alarms, functions and
          rollouts that {name} saved last stay, but have no effect until another user saves them. This cannot be undone;
          to keep {name} out for a while, disable the user.{signedOut}
        </p>
      </Confirm>
    </>
  )
}

function CodeConfirm({
  user,
  isOpen,
  onClose,
  onInvited,
}: {
  readonly user: UserEntry
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly onInvited: (invitation: Invitation) => void
}) {
  const [isReset, setReset] = useState(false)
  const { name, state, twoFactor } = user
  const renew = async () => {
    const body = isReset ? { resetTwoFactor: true } : {}
    const call = client.call('POST /iam/users/:name/code', { parameters: { name }, query: tenantQuery(), body })
    onInvited(await withExplanation(call, { 403: beyond }))
  }
  return (
    <Confirm
      title={`${codeVerb(user)} for ${name}?`}
      isOpen={isOpen}
      onClose={onClose}
      confirm="Create code"
      kind="primary"
      onConfirm={renew}
    >
      <p>
        Creates a new code for {name}, valid for 7 days. An earlier code becomes invalid.
        {state !== 'invited' && ' The current password works until the code is used; then all sessions end.'}
      </p>
      {twoFactor.length > 0 && (
        <Checkbox
          label="The code also removes the second factors"
          hint="For a user who lost them."
          isChecked={isReset}
          onChange={setReset}
        />
      )}
      <p>
        To end the sessions of {name} now: <Link to={pathOf('administration', 'sessions')}>sessions</Link>.
      </p>
    </Confirm>
  )
}

function codeVerb({ state }: UserEntry): string {
  return state === 'invited' ? 'New code' : 'Reset password'
}

async function setState({ name }: UserEntry, state: 'active' | 'disabled', onChanged: () => void): Promise<void> {
  const call = client.call('PATCH /iam/users/:name', { parameters: { name }, query: tenantQuery(), body: { state } })
  await withExplanation(call, { 403: beyond, 409: lastAdministrator })
  notify(state === 'active' ? `${name} is enabled` : `${name} is disabled, and all sessions have ended`)
  onChanged()
}

async function remove({ name }: UserEntry, onChanged: () => void): Promise<void> {
  await withExplanation(client.call('DELETE /iam/users/:name', { parameters: { name }, query: tenantQuery() }), {
    403: beyond,
    409: lastAdministrator,
  })
  notify(`${name} is deleted, and all sessions have ended`)
  onChanged()
}
