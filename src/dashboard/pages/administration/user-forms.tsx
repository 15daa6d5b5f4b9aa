import type { Answer } from '#client/client'
import { serverUrl } from '#dashboard/address'
import { ConcurrentEdit, changedFields, type Edit, replacedFields } from '#dashboard/components/concurrent-edit'
import { Command } from '#dashboard/components/copy-button'
import { Select, TextField, useField } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { pathOf } from '#dashboard/components/link'
import { OneTimeSecret } from '#dashboard/components/one-time-secret'
import { withExplanation } from '#dashboard/components/problem-text'
import { dateTimeText } from '#dashboard/components/time'
import { notify } from '#dashboard/components/toasts'
import { codeLifetimes, expiresIn } from '#dashboard/pages/administration/lifetimes'
import { RoleChoice } from '#dashboard/pages/administration/role-choice'
import { missingPermissions, tenantQuery } from '#dashboard/pages/administration/tenant-choice'
import { client } from '#dashboard/session'
import type { UserEntry } from '#model/user'

export type Invitation = Answer<'POST /iam/users'>

export function InviteForm({ onInvited }: { readonly onInvited: (invitation: Invitation) => void }) {
  const name = useField('')
  const email = useField('')
  const roles = useField<readonly string[]>([])
  const lifetime = useField('')
  const invite = async () => {
    const address = email.value === '' ? {} : { email: email.value }
    const body = { name: name.value.trim(), ...address, roles: [...roles.value], ...expiresIn(lifetime.value) }
    const call = client.call('POST /iam/users', { query: tenantQuery(), body })
    onInvited(await withExplanation(call, { 403: missingPermissions }))
  }
  return (
    <Form label="Create invitation" submit="Create code" onSubmit={invite} isUnsaved="touched">
      <TextField
        label="Name"
        hint="For sign-in. Unique on this server, regardless of case."
        {...name}
        maxLength={64}
        autocomplete="off"
        isRequired
        hasFocus
      />
      <TextField
        label="E-mail"
        hint="Optional: receives mails, such as a link for the sign-up, and can be used for sign-in."
        type="email"
        {...email}
        autocomplete="off"
      />
      <RoleChoice {...roles} />
      <Select label="The code is valid for" {...lifetime} options={codeLifetimes} />
    </Form>
  )
}

export interface InvitationCodeProps {
  readonly invitation: Invitation
  readonly onDismiss: () => void
}

export function InvitationCode({ invitation: { name, code, expiresAt, mailed }, onDismiss }: InvitationCodeProps) {
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

interface EditFormProps {
  readonly user: UserEntry
  readonly onDone: () => void
}

export function EditForm({ user, onDone }: EditFormProps) {
  return (
    <ConcurrentEdit current={user} subject="this user" edited={({ email, roles }) => ({ email, roles })} isAlwaysDirty>
      {({ initial, check }) => <UserForm user={initial} check={check} onDone={onDone} />}
    </ConcurrentEdit>
  )
}

function UserForm({ user, check, onDone }: EditFormProps & Pick<Edit<UserEntry>, 'check'>) {
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
      await withExplanation(call, { 403: missingPermissions, 409: explainLastAdministrator })
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
export function explainLastAdministrator(error: string): string | undefined {
  if (!error.includes('last administrator')) return undefined
  return 'This is the last active administrator of the tenant: make another user administrator first.'
}
