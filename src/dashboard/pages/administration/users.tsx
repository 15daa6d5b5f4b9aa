import { useState } from 'preact/hooks'
import type { Answer } from '#client/client'
import { serverUrl } from '#dashboard/address'
import { Button } from '#dashboard/components/button'
import { ConcurrentEdit, changedFields, type Edit, replacedFields } from '#dashboard/components/concurrent-edit'
import { Command } from '#dashboard/components/copy-button'
import { ConfirmButton, DialogButton } from '#dashboard/components/dialog'
import { Checkbox, Select, TextField, useField, useFields } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { Link, pathOf } from '#dashboard/components/link'
import { OneTimeSecret } from '#dashboard/components/one-time-secret'
import { Empty, Section } from '#dashboard/components/page'
import { withExplanation } from '#dashboard/components/problem-text'
import { Badge, Status } from '#dashboard/components/status'
import { actionsColumn, type Column, PagedTable } from '#dashboard/components/table'
import { dateTimeText, Time } from '#dashboard/components/time'
import { notify } from '#dashboard/components/toasts'
import { usePagedList } from '#dashboard/components/use-call'
import { codeLifetimes, expiresIn, RoleChoice } from '#dashboard/pages/administration/credential-fields'
import {
  mayInTenant,
  missingPermissions,
  tenantOption,
  tenantQuery,
} from '#dashboard/pages/administration/tenant-choice'
import { client, session } from '#dashboard/session'
import type { UserEntry } from '#model/user'

const pageSize = 200
const none = <span class="soft">none</span>

/** Users and their roles. Contract 2. */
export function Users() {
  const users = usePagedList(
    () => client.pages('GET /iam/users', { query: { ...tenantQuery(), limit: `${pageSize}` } }),
    pageSize,
    [],
  )
  const [invitation, setInvitation] = useState<Invitation>()
  const search = useField('')
  const needle = search.value.trim().toLowerCase()

  const columns: readonly Column<UserEntry>[] = [
    {
      title: 'Name',
      cell: ({ name }) => (
        <>
          {name} {name === session.value.name && <Badge tone="good">you</Badge>}
        </>
      ),
    },
    { title: 'E-mail', cell: ({ email }) => email ?? none },
    { title: 'Roles', cell: ({ roles }) => <RoleNames roles={roles} /> },
    { title: 'State', cell: ({ state }) => <Status state={state} /> },
    {
      title: 'Second factor',
      cell: ({ twoFactor }) =>
        twoFactor.map((factor) => (factor === 'totp' ? 'one-time codes' : 'passkey')).join(', ') || none,
    },
    { title: 'Created', cell: ({ createdAt }) => <Time at={createdAt} /> },
    actionsColumn((user) => <UserActions user={user} onChanged={users.refresh} onInvited={setInvitation} />),
  ]
  return (
    <Section
      title="Users"
      actions={
        mayInTenant('users', 'create') && (
          <DialogButton kind="primary" button="Create invitation" title="Create invitation">
            <InviteForm
              onInvited={(created) => {
                setInvitation(created)
                users.refresh()
              }}
            />
          </DialogButton>
        )
      }
    >
      {invitation && <InvitationCode {...invitation} onDismiss={() => setInvitation(undefined)} />}
      <TextField
        label="Search"
        type="search"
        {...search}
        hint={users.hasMore ? 'Searches the loaded users.' : undefined}
      />
      <PagedTable
        caption="List of users"
        columns={columns}
        rowKey={({ name }) => name}
        paged={users}
        filter={({ name, email = '', roles, state }) =>
          [name, email, state, ...roles].some((each) => each.toLowerCase().includes(needle))
        }
        empty={
          needle === '' ? (
            <Empty title="No users" command={`npm run admin -- user add ann --role operator${tenantOption()}`}>
              Create an invitation above, or on the command line. Both give a code for the sign-up.
            </Empty>
          ) : (
            <Empty title="No users found">Search for a part of a name, address, role or state.</Empty>
          )
        }
      />
    </Section>
  )
}

export function RoleNames({ roles }: { readonly roles: readonly string[] }) {
  return <>{roles.length === 0 ? none : roles.map((role) => <Badge key={role}>{role}</Badge>)}</>
}

interface UserActionsProps {
  readonly user: UserEntry
  readonly onChanged: () => void
  readonly onInvited: (invitation: Invitation) => void
}

function UserActions({ user, onChanged, onInvited }: UserActionsProps) {
  const { name, state } = user
  const mayUpdate = mayInTenant('users', 'update')
  const place = { parameters: { name }, query: tenantQuery() }
  const setState = (next: 'active' | 'disabled') =>
    withExplanation(client.call('PATCH /iam/users/:name', { ...place, body: { state: next } }), refusals)
  const enable = async () => {
    await setState('active')
    notify(`${name} is enabled`)
    onChanged()
  }
  const ownUserHint = name === session.value.name && <strong> This is your own user: you will be signed out.</strong>
  return (
    <div class="actions">
      {mayUpdate && (
        <>
          <DialogButton button="Change" kind="quiet" label={`Change ${name}`} title={`Change ${name}`}>
            <ConcurrentEdit
              current={user}
              subject="this user"
              edited={({ email, roles }) => ({ email, roles })}
              isAlwaysDirty
            >
              {({ initial, check }) => <UserForm user={initial} check={check} onDone={onChanged} />}
            </ConcurrentEdit>
          </DialogButton>
          <CodeButton user={user} onInvited={onInvited} />
        </>
      )}
      {mayUpdate && state === 'disabled' && (
        <Button kind="quiet" label={`Enable ${name}`} onPress={enable}>
          Enable
        </Button>
      )}
      {mayUpdate && state !== 'disabled' && (
        <ConfirmButton
          button="Disable"
          buttonKind="quiet"
          label={`Disable ${name}`}
          confirm={`Disable ${name}`}
          onConfirm={() => setState('disabled')}
          done={`${name} is disabled, and all sessions have ended`}
          onDone={onChanged}
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
          confirm={`Delete ${name}`}
          typed={name}
          onConfirm={() => withExplanation(client.call('DELETE /iam/users/:name', place), refusals)}
          done={`${name} is deleted, and all sessions have ended`}
          onDone={onChanged}
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
  const reset = useField(false)
  const { name, state, twoFactor } = user
  const action = state === 'invited' ? 'New code' : 'Reset password'
  const createCode = async () => {
    const body = reset.value ? { resetTwoFactor: true } : {}
    const call = client.call('POST /iam/users/:name/code', { parameters: { name }, query: tenantQuery(), body })
    onInvited(await withExplanation(call, { 403: missingPermissions }))
  }
  return (
    <ConfirmButton
      button={action}
      buttonKind="quiet"
      label={`${action} for ${name}`}
      confirm="Create code"
      kind="primary"
      onConfirm={createCode}
    >
      <p>
        Creates a new code for {name}, valid for 7 days. An earlier code becomes invalid.
        {state !== 'invited' && ' The current password works until the code is used; then all sessions end.'}
      </p>
      {twoFactor.length > 0 && (
        <Checkbox label="The code also removes the second factors" hint="For a user who lost them." {...reset} />
      )}
      <p>
        To end the sessions of {name} now: <Link to={pathOf('administration', 'sessions')}>sessions</Link>.
      </p>
    </ConfirmButton>
  )
}

const refusals = { 403: missingPermissions, 409: explainLastAdministrator }

type Invitation = Answer<'POST /iam/users'>

function InviteForm({ onInvited }: { readonly onInvited: (invitation: Invitation) => void }) {
  const { values, field } = useFields({ name: '', email: '', roles: [] as readonly string[], lifetime: '' })
  const invite = async () => {
    const { name, email, roles, lifetime } = values
    const body = { name: name.trim(), ...(email && { email }), roles: [...roles], ...expiresIn(lifetime) }
    const call = client.call('POST /iam/users', { query: tenantQuery(), body })
    onInvited(await withExplanation(call, { 403: missingPermissions }))
  }
  return (
    <Form label="Create invitation" submit="Create code" onSubmit={invite} isUnsaved="touched">
      <TextField
        label="Name"
        hint="For sign-in. Unique on this server, regardless of case."
        {...field('name')}
        maxLength={64}
        autocomplete="off"
        isRequired
        hasFocus
      />
      <TextField
        label="E-mail"
        hint="Optional: receives mails, such as a link for the sign-up, and can be used for sign-in."
        type="email"
        {...field('email')}
        autocomplete="off"
      />
      <RoleChoice {...field('roles')} />
      <Select label="The code is valid for" {...field('lifetime')} options={codeLifetimes} />
    </Form>
  )
}

function InvitationCode(props: Invitation & { readonly onDismiss: () => void }) {
  const { name, code, expiresAt, mailed, onDismiss } = props
  return (
    <OneTimeSecret title={`The code for ${name}`} secret={code} label="Copy the code" onDismiss={onDismiss}>
      {mailed && <p>A mail with a link was sent to {name}.</p>}
      {mailed === false && <p>The mail server has not accepted the mail with a link.</p>}
      <p>
        {name} can choose a password with this code until {dateTimeText(expiresAt)}.{' '}
        {mailed ? 'The' : `Send it privately to ${name}. The`} address below includes name and code.
      </p>
      {/* The part of the address after `#` reaches no server and no log. */}
      <Command command={`${serverUrl()}/#${pathOf('sign-up', name, code)}`} />
    </OneTimeSecret>
  )
}

interface UserFormProps extends Pick<Edit<UserEntry>, 'check'> {
  readonly user: UserEntry
  readonly onDone: () => void
}

function UserForm({ user, check, onDone }: UserFormProps) {
  const email = useField(user.email ?? '')
  const roles = useField<readonly string[]>(user.roles)
  const { name } = user
  const save = async () => {
    const place = { parameters: { name }, query: tenantQuery() }
    const before = { email: user.email ?? null, roles: [...user.roles] }
    const body = changedFields(before, { email: email.value || null, roles: [...roles.value] })
    if (Object.keys(body).length > 0) {
      const precondition = await check(
        () => client.call('GET /iam/users/:name', place),
        (stored) => replacedFields(stored, body),
      )
      const call = client.call('PATCH /iam/users/:name', { ...place, ...precondition, body })
      await withExplanation(call, refusals)
      notify(`${name} is saved, and the change applies to open sessions within a second`)
    }
    onDone()
  }
  return (
    <Form label={`Change ${name}`} submit="Save" onSubmit={save} isUnsaved="touched">
      <TextField label="E-mail" hint="Empty: no address and no mails." type="email" {...email} autocomplete="off" />
      <RoleChoice {...roles} />
    </Form>
  )
}

/** Explains the refusal to change the last administrator; undefined for other refusals. */
function explainLastAdministrator(error: string): string | undefined {
  if (!error.includes('last administrator')) return undefined
  return 'This is the last active administrator of the tenant: make another user administrator first.'
}
