import { useState } from 'preact/hooks'
import { Button } from '#dashboard/components/button'
import { ConfirmButton, DialogButton } from '#dashboard/components/dialog'
import { Empty } from '#dashboard/components/empty-state'
import { Checkbox, TextField } from '#dashboard/components/fields'
import { Link, pathOf } from '#dashboard/components/link'
import { Section } from '#dashboard/components/page'
import { withExplanation } from '#dashboard/components/problem-text'
import { Badge, Status } from '#dashboard/components/status'
import { actionsColumn, type Column, PagedTable } from '#dashboard/components/table'
import { Time } from '#dashboard/components/time'
import { notify } from '#dashboard/components/toasts'
import { usePages } from '#dashboard/components/use-pages'
import { type Invitation, InvitationCode } from '#dashboard/pages/administration/invitation-code'
import { mayInTenant, tenantOption, tenantQuery } from '#dashboard/pages/administration/tenant-choice'
import { EditForm, InviteForm, lastAdministrator, missingPermissions } from '#dashboard/pages/administration/user-forms'
import { client, session } from '#dashboard/session'
import type { UserEntry } from '#model/user'

const pageSize = 200

/** Users and their roles. Contract 2. */
export function Users() {
  const users = usePages(
    () => client.pages('GET /iam/users', { query: { ...tenantQuery(), limit: `${pageSize}` } }),
    pageSize,
    [],
  )
  const [invitation, setInvitation] = useState<Invitation>()
  const [search, setSearch] = useState('')
  const needle = search.trim().toLowerCase()

  const columns: readonly Column<UserEntry>[] = [
    { key: 'name', title: 'Name', cell: ({ name }) => <UserName name={name} /> },
    { key: 'email', title: 'E-mail', cell: ({ email }) => email ?? <span class="soft">none</span> },
    { key: 'roles', title: 'Roles', cell: ({ roles }) => <RoleNames roles={roles} /> },
    { key: 'state', title: 'State', cell: ({ state }) => <Status state={state} /> },
    { key: 'factors', title: 'Second factor', cell: ({ twoFactor }) => <SecondFactors factors={twoFactor} /> },
    { key: 'created', title: 'Created', cell: ({ createdAt }) => <Time at={createdAt} /> },
    actionsColumn((user) => <UserActions user={user} onChanged={users.refresh} onInvited={setInvitation} />),
  ]
  return (
    <Section
      title="Users"
      actions={
        mayInTenant('users', 'create') && (
          <DialogButton kind="primary" button="Create invitation" title="Create invitation">
            {(close) => (
              <InviteForm
                onCancel={close}
                onInvited={(created) => {
                  close()
                  setInvitation(created)
                  users.refresh()
                }}
              />
            )}
          </DialogButton>
        )
      }
    >
      {invitation && <InvitationCode invitation={invitation} onDismiss={() => setInvitation(undefined)} />}
      <TextField
        label="Search"
        type="search"
        value={search}
        onInput={setSearch}
        hint={users.hasMore ? 'Searches the loaded users.' : undefined}
      />
      <PagedTable
        caption="List of users"
        columns={columns}
        rowKey={({ name }) => name}
        paged={users}
        filter={(user) => isMatch(user, needle)}
        empty={<NoUsers isSearched={needle !== ''} />}
      />
    </Section>
  )
}

/** Matches name, address, role or state. */
function isMatch({ name, email = '', roles, state }: UserEntry, text: string): boolean {
  return [name, email, state, ...roles].some((each) => each.toLowerCase().includes(text))
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

function SecondFactors({ factors }: { readonly factors: UserEntry['twoFactor'] }) {
  if (factors.length === 0) return <span class="soft">none</span>
  return <>{factors.map((factor) => (factor === 'totp' ? 'one-time codes' : 'security key')).join(', ')}</>
}

interface UserActionsProps {
  readonly user: UserEntry
  readonly onChanged: () => void
  readonly onInvited: (invitation: Invitation) => void
}

/** The actions on one user that are permitted. */
function UserActions({ user, onChanged, onInvited }: UserActionsProps) {
  const { name, state } = user
  const mayUpdate = mayInTenant('users', 'update')
  const ownUserHint = name === session.value.name && <strong> This is your own user: you will be signed out.</strong>
  return (
    <div class="actions">
      {mayUpdate && (
        <>
          <DialogButton button="Change" kind="quiet" label={`Change ${name}`} title={`Change ${name}`}>
            {(close) => (
              <EditForm
                user={user}
                onCancel={close}
                onDone={() => {
                  close()
                  onChanged()
                }}
              />
            )}
          </DialogButton>
          <CodeButton user={user} onInvited={onInvited} />
        </>
      )}
      {mayUpdate && state === 'disabled' && (
        <Button kind="quiet" label={`Enable ${name}`} onPress={() => setState(user, 'active', onChanged)}>
          Enable
        </Button>
      )}
      {mayUpdate && state !== 'disabled' && (
        <ConfirmButton
          button="Disable"
          buttonKind="quiet"
          label={`Disable ${name}`}
          title={`Disable ${name}?`}
          confirm={`Disable ${name}`}
          onConfirm={() => setState(user, 'disabled', onChanged)}
        >
          <p>
            All sessions of {name} end at once, with their sockets, and {name} cannot sign in until enabled again.
            {ownUserHint}
          </p>
        </ConfirmButton>
      )}
      {mayInTenant('users', 'delete') && (
        <ConfirmButton
          button="Delete"
          buttonKind="quiet"
          label={`Delete ${name}`}
          title={`Delete ${name}?`}
          confirm={`Delete ${name}`}
          typed={name}
          onConfirm={() => deleteUser(user, onChanged)}
        >
          <p>
            All sessions of {name} end at once, and the subscriptions of {name} are deleted. Alarms, functions and
            rollouts that {name} saved last stay, but have no effect until another user saves them. This cannot be
            undone; to lock {name} out for a while, disable the user.{ownUserHint}
          </p>
        </ConfirmButton>
      )}
    </div>
  )
}

function CodeButton({ user, onInvited }: Pick<UserActionsProps, 'user' | 'onInvited'>) {
  const [isReset, setReset] = useState(false)
  const { name, state, twoFactor } = user
  const action = state === 'invited' ? 'New code' : 'Reset password'
  const createCode = async () => {
    const body = isReset ? { resetTwoFactor: true } : {}
    const call = client.call('POST /iam/users/:name/code', { parameters: { name }, query: tenantQuery(), body })
    onInvited(await withExplanation(call, { 403: missingPermissions }))
  }
  return (
    <ConfirmButton
      button={action}
      buttonKind="quiet"
      label={`${action} for ${name}`}
      title={`${action} for ${name}?`}
      confirm="Create code"
      kind="primary"
      onConfirm={createCode}
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
    </ConfirmButton>
  )
}

async function setState({ name }: UserEntry, state: 'active' | 'disabled', onChanged: () => void): Promise<void> {
  const call = client.call('PATCH /iam/users/:name', { parameters: { name }, query: tenantQuery(), body: { state } })
  await withExplanation(call, { 403: missingPermissions, 409: lastAdministrator })
  notify(state === 'active' ? `${name} is enabled` : `${name} is disabled, and all sessions have ended`)
  onChanged()
}

async function deleteUser({ name }: UserEntry, onChanged: () => void): Promise<void> {
  await withExplanation(client.call('DELETE /iam/users/:name', { parameters: { name }, query: tenantQuery() }), {
    403: missingPermissions,
    409: lastAdministrator,
  })
  notify(`${name} is deleted, and all sessions have ended`)
  onChanged()
}
