import { useState } from 'preact/hooks'
import { Button, type ButtonProps } from '#dashboard/components/button'
import { ConcurrentEdit, type Edit } from '#dashboard/components/concurrent-edit'
import { Command } from '#dashboard/components/copy-button'
import { ConfirmButton, DialogButton } from '#dashboard/components/dialog'
import { TextField, useField } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { nameProblem, shortNameRule } from '#dashboard/components/names'
import { Section } from '#dashboard/components/page'
import { ExplainedError, serverErrorOf, statusOf, withExplanation } from '#dashboard/components/problem-text'
import { Badge } from '#dashboard/components/status'
import { actionsColumn, CallTable, type Column } from '#dashboard/components/table'
import { notify } from '#dashboard/components/toasts'
import { useCall } from '#dashboard/components/use-call'
import { GrantFields } from '#dashboard/pages/administration/grant-fields'
import { firstGrant, grantText, isEmptyGrant } from '#dashboard/pages/administration/grants'
import {
  mayInTenant,
  missingPermissions,
  tenantOption,
  tenantQuery,
} from '#dashboard/pages/administration/tenant-choice'
import { client } from '#dashboard/session'
import { isShortName } from '#model/name-forms'
import type { RoleEntry } from '#model/role'
import type { Grant } from '#model/scope'

/** Roles: named permissions of users and keys. Contract 2. */
export function Roles() {
  const roles = useCall(() => client.call('GET /iam/roles', { query: tenantQuery() }), [])
  const mayCreate = mayInTenant('roles', 'create')
  const shared = { existingNames: (roles.value ?? []).map(({ name }) => name), onSaved: roles.refresh }

  const columns: readonly Column<RoleEntry>[] = [
    {
      title: 'Role',
      cell: ({ name, builtIn }) => (
        <>
          {name} {builtIn && <Badge>built in</Badge>}
        </>
      ),
    },
    {
      title: 'Permissions',
      isText: true,
      cell: ({ grants }) =>
        grants.length === 0 ? (
          <span class="soft">nothing</span>
        ) : (
          grants.map((grant, place) => <div key={place}>{grantText(grant)}</div>)
        ),
    },
    actionsColumn((role) => (
      <div class="actions">
        {mayInTenant('roles', 'update') && !role.builtIn ? (
          <EditButton {...shared} button="Change" kind="quiet" label={`Change ${role.name}`} draft={role} />
        ) : (
          <DialogButton button="Show" kind="quiet" label={`Show ${role.name}`} title={`Role ${role.name}`} isWide>
            {role.builtIn && <p>Built-in roles cannot be changed. Copy this one to create your own.</p>}
            {role.grants.map((grant, place) => (
              <GrantFields key={place} grant={grant} number={place + 1} />
            ))}
          </DialogButton>
        )}
        {mayCreate && (
          <EditButton
            {...shared}
            button="Copy"
            kind="quiet"
            label={`Copy ${role.name}`}
            draft={{ grants: role.grants }}
          />
        )}
        {mayInTenant('roles', 'delete') && !role.builtIn && (
          <ConfirmButton
            button="Delete"
            buttonKind="quiet"
            label={`Delete ${role.name}`}
            title={`Delete role ${role.name}?`}
            confirm={`Delete ${role.name}`}
            onConfirm={() => deleteRole(role.name)}
            done={`Role ${role.name} is deleted`}
            onDone={roles.refresh}
          >
            <p>Role {role.name} is deleted for good. This is refused while a user or an API key has it.</p>
          </ConfirmButton>
        )}
      </div>
    )),
  ]
  return (
    <Section
      title="Roles"
      actions={
        mayCreate && <EditButton {...shared} button="New role" kind="primary" draft={{ grants: [firstGrant] }} />
      }
    >
      <CallTable caption="List of roles" columns={columns} call={roles} rowKey={({ name }) => name} />
      {mayCreate && roles.value?.every(({ builtIn }) => builtIn) && (
        <div class="prose">
          <p>
            There are no custom roles yet. Create one above for users who may see only some devices or services, or
            create one from a file:
          </p>
          <Command command={`npm run admin -- role put wall --file wall.json${tenantOption()}`} />
        </div>
      )}
    </Section>
  )
}

interface RoleDraft {
  /** Undefined: a new role, which needs a name. */
  readonly name?: string | undefined
  readonly grants: readonly Grant[]
}

interface EditButtonProps extends Pick<ButtonProps, 'kind' | 'label'> {
  readonly button: string
  readonly draft: RoleDraft
  /** Names of existing roles, which a new role must not replace. */
  readonly existingNames: readonly string[]
  readonly onSaved: () => void
}

function EditButton({ button, kind, label, draft, existingNames, onSaved }: EditButtonProps) {
  const title = draft.name === undefined ? 'New role' : `Role ${draft.name}`
  return (
    <DialogButton button={button} kind={kind} label={label} title={title} isWide>
      <ConcurrentEdit current={draft} subject="this role" edited={({ grants }) => grants} isAlwaysDirty>
        {({ initial, check }) => <RoleForm draft={initial} {...{ check, existingNames, onSaved }} />}
      </ConcurrentEdit>
    </DialogButton>
  )
}

const isTaken = 'Another user created a role with this name meanwhile'

type RoleFormProps = Pick<EditButtonProps, 'draft' | 'existingNames' | 'onSaved'> & Pick<Edit<RoleDraft>, 'check'>

function RoleForm({ draft, check, existingNames, onSaved }: RoleFormProps) {
  const nameField = useField(draft.name ?? '')
  const { value: name } = nameField
  // The ids keep the input of a grant when another grant is removed.
  const [grants, setGrants] = useState(draft.grants.map((grant, id) => ({ id, grant })))
  const isNew = draft.name === undefined
  const isExisting = isNew && existingNames.includes(name)
  const emptyGrant = grants.findIndex(({ grant }) => isEmptyGrant(grant))

  const save = async () => {
    const place = { parameters: { role: name }, query: tenantQuery() }
    const precondition = isNew ? { ifNoneMatch: '*' } : await check(() => client.call('GET /iam/roles/:role', place))
    const body = { grants: grants.map(({ grant }) => grant) }
    const call = client.call('PUT /iam/roles/:role', { ...place, ...precondition, body })
    await withExplanation(call, { 403: missingPermissions, 404: shortNameRule, ...(isNew && { 412: isTaken }) })
    notify(`Role ${name} is saved, and applies to signed-in users within a second`)
    onSaved()
  }
  return (
    <Form
      label={isNew ? 'New role' : `Change role ${name}`}
      submit="Save role"
      onSubmit={save}
      isUnsaved="touched"
      isDisabled={isExisting || !isShortName(name)}
    >
      {isNew && (
        <TextField
          label="Name"
          hint={shortNameRule}
          problem={isExisting ? 'A role with this name exists.' : nameProblem(name)}
          isCode
          {...nameField}
          maxLength={64}
          isRequired
          hasFocus
        />
      )}
      {grants.map(({ id, grant }, place) => (
        <GrantFields
          key={id}
          grant={grant}
          number={place + 1}
          onChange={(changed) => setGrants(grants.map((one) => (one.id === id ? { id, grant: changed } : one)))}
          onRemove={() => setGrants(grants.filter((one) => one.id !== id))}
        />
      ))}
      {grants.length === 0 && <p class="hint">A role without a grant permits nothing.</p>}
      {emptyGrant >= 0 && (
        <p class="hint">Grant {emptyGrant + 1} permits nothing: select permissions, and devices or services.</p>
      )}
      <p>
        <Button onPress={() => setGrants([...grants, { id: (grants.at(-1)?.id ?? 0) + 1, grant: firstGrant }])}>
          Add grant
        </Button>{' '}
        <span class="soft">The permissions of a grant apply only to its own devices and services.</span>
      </p>
    </Form>
  )
}

/** A role can be deleted only if no user or key holds it; the refusal names the holders. */
async function deleteRole(role: string): Promise<void> {
  try {
    const call = client.call('DELETE /iam/roles/:role', { parameters: { role }, query: tenantQuery() })
    await withExplanation(call, { 403: missingPermissions })
  } catch (problem) {
    if (statusOf(problem) !== 409 || !serverErrorOf(problem).includes('in use')) throw problem
    throw new ExplainedError(`Role ${role} is in use by ${await holdersOf(role)}. Remove it from them first.`, problem)
  }
}

const namedMax = 5

/** The holders of a role, as far as the user may see them. */
async function holdersOf(role: string): Promise<string> {
  if (!mayInTenant('users', 'read')) return 'a user or an API key that you may not see'
  const names: string[] = []
  for await (const page of client.pages('GET /iam/users', { query: { ...tenantQuery(), limit: '1000' } })) {
    names.push(...page.filter(({ roles }) => roles.includes(role)).map(({ name }) => name))
    if (names.length > namedMax) break
  }
  const keys = await client.call('GET /iam/api-keys', { query: tenantQuery() })
  names.push(...keys.filter(({ roles }) => roles.includes(role)).map(({ name }) => `the API key ${name}`))
  const shown = names.slice(0, namedMax).join(', ')
  return names.length > namedMax ? `${shown} and others` : shown || 'a user who received it just now'
}
