import { namesIn } from '#dashboard/pages/administration/grants'
import { tenantQuery } from '#dashboard/pages/administration/tenant-choice'
import { Checkbox, Field, TextField } from '#dashboard/parts/fields'
import { CallResult } from '#dashboard/parts/page'
import { useCall } from '#dashboard/parts/use-call'
import { client, mayI } from '#dashboard/session'

interface RoleChoiceProps {
  /** Names of the chosen roles. */
  readonly roles: readonly string[]
  readonly onChange: (roles: readonly string[]) => void
  readonly problem?: string | undefined
}

/** Chooses the roles of a user or key: from the list, or by name if the user may not read the list. */
export function RoleChoice(props: RoleChoiceProps) {
  return mayI('roles', 'read') ? <FromList {...props} /> : <ByName {...props} />
}

function FromList({ roles, onChange, problem }: RoleChoiceProps) {
  const known = useCall(() => client.call('GET /iam/roles', { query: tenantQuery() }), [])
  const hint = 'The permissions of all roles are combined. You cannot give more permissions than you have.'
  return (
    <Field label="Roles" hint={hint} problem={problem}>
      <CallResult called={known}>
        {(list) => (
          <div class="role-choices">
            {list.map(({ name }) => (
              <Checkbox
                key={name}
                label={name}
                isChecked={roles.includes(name)}
                onChange={(isOn) => onChange(isOn ? [...roles, name] : roles.filter((role) => role !== name))}
              />
            ))}
          </div>
        )}
      </CallResult>
    </Field>
  )
}

function ByName({ roles, onChange, problem }: RoleChoiceProps) {
  return (
    <TextField
      label="Roles"
      hint="Names separated by commas, such as operator, viewer. You may not read the list of roles."
      isCode
      value={roles.join(', ')}
      onInput={(text) => onChange(namesIn(text))}
      problem={problem}
    />
  )
}
