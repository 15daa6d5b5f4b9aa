import { useRef, useState } from 'preact/hooks'
import { GrantFields } from '#dashboard/pages/administration/grant-fields'
import { firstGrant, isIdle } from '#dashboard/pages/administration/grants'
import { tenantQuery } from '#dashboard/pages/administration/tenant-choice'
import { beyond } from '#dashboard/pages/administration/user-forms'
import { Button } from '#dashboard/parts/button'
import { type Edit, Edited } from '#dashboard/parts/edited'
import { Explained, explained } from '#dashboard/parts/explained'
import { TextField } from '#dashboard/parts/fields'
import { Form } from '#dashboard/parts/form'
import { statusOf } from '#dashboard/parts/problem-text'
import { isShortName, nameProblem, shortNameRule } from '#dashboard/parts/short-name'
import { say } from '#dashboard/parts/toasts'
import { client } from '#dashboard/session'
import type { Grant } from '#model/scope'

/** A role that is made or changed. */
export interface RoleDraft {
  /** Undefined: a new one, whose name is asked for. */
  readonly name?: string | undefined
  readonly grants: readonly Grant[]
}

interface Numbered {
  readonly id: number
  readonly grant: Grant
}

interface RoleEditorProps {
  readonly draft: RoleDraft
  /** Names that a new role must not have: they are there, and would be changed. */
  readonly taken: readonly string[]
  readonly onSaved: () => void
  readonly onCancel: () => void
}

export function RoleEditor(props: RoleEditorProps) {
  return (
    <Edited found={props.draft} what="this role" filled={({ grants }) => grants} isHeld>
      {(edit) => <RoleForm {...props} draft={edit.begun} check={edit.check} />}
    </Edited>
  )
}

function RoleForm({ draft, check, taken, onSaved, onCancel }: RoleEditorProps & Pick<Edit<RoleDraft>, 'check'>) {
  const [name, setName] = useState(draft.name ?? '')
  const [grants, setGrants] = useState<readonly Numbered[]>(draft.grants.map((grant, id) => ({ id, grant })))
  const next = useRef(draft.grants.length)
  const isNew = draft.name === undefined
  const isTaken = isNew && taken.includes(name)
  const idle = grants.findIndex(({ grant }) => isIdle(grant))

  const save = async () => {
    const unchanged = await check(() => readRole(name, draft))
    const place = { parameters: { role: name }, query: tenantQuery() }
    const body = { grants: grants.map(({ grant }) => grant) }
    const call = client.call('PUT /iam/roles/:role', { ...place, ...(isNew ? { ifNoneMatch: '*' } : unchanged), body })
    await explained(call, { 403: beyond, 404: shortNameRule })
    say(`Role ${name} is saved; it holds for everybody who is signed in within a second`)
    onSaved()
  }
  return (
    <Form
      label={isNew ? 'New role' : `Change role ${name}`}
      submit="Save the role"
      onSubmit={save}
      onCancel={onCancel}
      isUnsaved="touched"
      isDisabled={isTaken || !isShortName(name)}
    >
      {isNew && (
        <TextField
          label="Name"
          hint={shortNameRule}
          problem={isTaken ? 'There is a role of this name: change that one.' : nameProblem(name)}
          isCode
          value={name}
          onInput={setName}
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
      {grants.length === 0 && <p class="hint">Without a grant whoever holds the role may do nothing.</p>}
      {idle >= 0 && (
        <p class="hint">Grant {idle + 1} gives nothing as it is: tick a box, and name a device or service.</p>
      )}
      <p>
        <Button
          onPress={() => {
            setGrants([...grants, { id: next.current, grant: firstGrant }])
            next.current += 1
          }}
        >
          Add a grant
        </Button>{' '}
        <span class="soft">What a grant gives reaches its own devices and services, and no others.</span>
      </p>
    </Form>
  )
}

/** As it is now; of one that there is none of yet, what it begins with. */
async function readRole(role: string, draft: RoleDraft): Promise<RoleDraft> {
  try {
    const found = await client.call('GET /iam/roles/:role', { parameters: { role }, query: tenantQuery() })
    if (draft.name === undefined) throw new Explained('There is a role of this name since: change that one')
    return found
  } catch (problem) {
    if (draft.name === undefined && statusOf(problem) === 404) return draft
    throw problem
  }
}
