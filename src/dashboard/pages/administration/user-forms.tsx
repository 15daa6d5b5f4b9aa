import { useState } from 'preact/hooks'
import { ConcurrentEdit, changedFields, type Edit, replacedFields } from '#dashboard/components/concurrent-edit'
import { Select, TextField } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { withExplanation } from '#dashboard/components/problem-text'
import { notify } from '#dashboard/components/toasts'
import type { Invitation } from '#dashboard/pages/administration/invitation-code'
import { codeLifetimes, expiresIn } from '#dashboard/pages/administration/lifetimes'
import { RoleChoice } from '#dashboard/pages/administration/role-choice'
import { tenantQuery } from '#dashboard/pages/administration/tenant-choice'
import { client } from '#dashboard/session'
import type { UserEntry } from '#model/user'

/** For users who try to give, change or reset more than their own grants cover. Contract 2. */
export const missingPermissions = 'This needs permissions that you do not have: ask a user with more roles.'

export function InviteForm({
  onInvited,
  onCancel,
}: {
  readonly onInvited: (invitation: Invitation) => void
  readonly onCancel: () => void
}) {
  const [name, setName] = useState('')
  const [email, setEmail] = useState('')
  const [roles, setRoles] = useState<readonly string[]>([])
  const [lifetime, setLifetime] = useState('')
  const invite = async () => {
    const body = { name: name.trim(), ...(email !== '' && { email }), roles: [...roles], ...expiresIn(lifetime) }
    onInvited(
      await withExplanation(client.call('POST /iam/users', { query: tenantQuery(), body }), {
        403: missingPermissions,
      }),
    )
  }
  return (
    <Form label="Create invitation" submit="Create code" onSubmit={invite} onCancel={onCancel} isUnsaved="touched">
      <TextField
        label="Name"
        hint="For sign-in. Unique on this server, regardless of case."
        value={name}
        onInput={setName}
        maxLength={64}
        autocomplete="off"
        isRequired
        hasFocus
      />
      <TextField
        label="E-mail"
        hint="Optional: receives mails, such as a link for the sign-up, and can be used for sign-in."
        type="email"
        value={email}
        onInput={setEmail}
        autocomplete="off"
      />
      <RoleChoice roles={roles} onChange={setRoles} />
      <Select label="The code is valid for" value={lifetime} options={codeLifetimes} onChange={setLifetime} />
    </Form>
  )
}

interface EditFormProps {
  readonly user: UserEntry
  readonly onDone: () => void
  readonly onCancel: () => void
}

export function EditForm(props: EditFormProps) {
  return (
    <ConcurrentEdit
      current={props.user}
      subject="this user"
      edited={({ email, roles }) => ({ email, roles })}
      isAlwaysDirty
    >
      {({ initial, check }) => <UserForm {...props} user={initial} check={check} />}
    </ConcurrentEdit>
  )
}

function UserForm({ user, check, onDone, onCancel }: EditFormProps & Pick<Edit<UserEntry>, 'check'>) {
  const [email, setEmail] = useState(user.email ?? '')
  const [roles, setRoles] = useState<readonly string[]>(user.roles)
  const { name } = user
  const save = async () => {
    const place = { parameters: { name }, query: tenantQuery() }
    const before = { email: user.email ?? null, roles: [...user.roles] }
    const body = changedFields(before, { email: email === '' ? null : email, roles: [...roles] })
    if (Object.keys(body).length === 0) return onDone()
    const precondition = await check(
      () => client.call('GET /iam/users/:name', place),
      (stored) => replacedFields(stored, body),
    )
    await withExplanation(client.call('PATCH /iam/users/:name', { ...place, ...precondition, body }), {
      403: missingPermissions,
      409: lastAdministrator,
    })
    notify(`${name} is changed. Sessions and sockets follow within a second`)
    onDone()
  }
  return (
    <Form label={`Change ${name}`} submit="Save" onSubmit={save} onCancel={onCancel} isUnsaved="touched">
      <TextField
        label="E-mail"
        hint="Empty: no address and no mails."
        type="email"
        value={email}
        onInput={setEmail}
        autocomplete="off"
      />
      <RoleChoice roles={roles} onChange={setRoles} />
    </Form>
  )
}

/** Explains this refusal; undefined for other refusals. */
export function lastAdministrator(error: string): string | undefined {
  if (!error.includes('last administrator')) return undefined
  return 'This is the last active administrator of the tenant: make another user administrator first.'
}
