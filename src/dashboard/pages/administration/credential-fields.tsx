import { Checkboxes, Field, type Option, TextField } from '#dashboard/components/fields'
import { CallResult } from '#dashboard/components/page'
import { useCall } from '#dashboard/components/use-call'
import { parseNames } from '#dashboard/pages/administration/grants'
import { tenantQuery } from '#dashboard/pages/administration/tenant-choice'
import { client, mayUser } from '#dashboard/session'

interface RoleChoiceProps {
  readonly value: readonly string[]
  readonly onChange: (roles: readonly string[]) => void
}

/** Chooses the roles of a user or key: from the list, or by name if the user may not read the list. */
export function RoleChoice({ value, onChange }: RoleChoiceProps) {
  if (mayUser('roles', 'read')) return <RoleCheckboxes value={value} onChange={onChange} />
  return (
    <TextField
      label="Roles"
      hint="Names separated by commas, such as operator, viewer. You may not read the list of roles."
      isCode
      value={value.join(', ')}
      onChange={(text) => onChange(parseNames(text))}
      path="roles"
    />
  )
}

function RoleCheckboxes(field: RoleChoiceProps) {
  const known = useCall(() => client.call('GET /iam/roles', { query: tenantQuery() }), [])
  const hint = 'The permissions of all roles are combined. You cannot give more permissions than you have.'
  return (
    <Field label="Roles" hint={hint} path="roles">
      <CallResult call={known}>
        {(list) => <Checkboxes {...field} options={list.map(({ name }) => ({ value: name, label: name }))} />}
      </CallResult>
    </Field>
  )
}

const dayS = 86_400

/** Lifetimes of codes, in seconds; empty: the default of the server. Contract 2. */
export const codeLifetimes: readonly Option[] = [
  { value: '3600', label: 'an hour' },
  { value: `${dayS}`, label: 'a day' },
  { value: '', label: '7 days' },
  { value: `${30 * dayS}`, label: '30 days' },
]

export const keyLifetimes: readonly Option[] = [
  { value: '', label: 'until it is deleted' },
  { value: `${dayS}`, label: 'a day' },
  { value: `${30 * dayS}`, label: '30 days' },
  { value: `${365 * dayS}`, label: 'a year' },
  { value: `${10 * 365 * dayS}`, label: '10 years' },
]

/** `{expiresIn}` for a body, or an empty object. */
export function expiresIn(lifetime: string): { readonly expiresIn?: number } {
  return lifetime === '' ? {} : { expiresIn: Number(lifetime) }
}
