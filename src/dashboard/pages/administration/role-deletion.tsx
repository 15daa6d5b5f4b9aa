import { useState } from 'preact/hooks'
import { mayHere, tenantQuery } from '#dashboard/pages/administration/tenant-choice'
import { beyond } from '#dashboard/pages/administration/user-forms'
import { Button } from '#dashboard/parts/button'
import { Confirm } from '#dashboard/parts/dialog'
import { Explained, explained, saidBy } from '#dashboard/parts/explained'
import { statusOf } from '#dashboard/parts/problem-text'
import { say } from '#dashboard/parts/toasts'
import { client } from '#dashboard/session'
import type { RoleEntry } from '#model/role'

/** A role goes only when nobody holds it: where somebody does, the refusal names them. */
export function DeleteRole({
  role: { name },
  onDeleted,
}: {
  readonly role: RoleEntry
  readonly onDeleted: () => void
}) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button kind="quiet" label={`Delete ${name}`} onPress={() => setOpen(true)}>
        Delete
      </Button>
      <Confirm
        title={`Delete role ${name}?`}
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        confirm={`Delete ${name}`}
        onConfirm={async () => {
          await remove(name)
          say(`Role ${name} is deleted`)
          onDeleted()
        }}
      >
        <p>The role {name} is gone for good. It is refused while a user or an API key holds it.</p>
      </Confirm>
    </>
  )
}

async function remove(role: string): Promise<void> {
  try {
    const call = client.call('DELETE /iam/roles/:role', { parameters: { role }, query: tenantQuery() })
    await explained(call, { 403: beyond })
  } catch (problem) {
    if (statusOf(problem) !== 409 || !saidBy(problem).includes('in use')) throw problem
    throw new Explained(`Role ${role} is held by ${await holdersOf(role)}. Take it from them first.`, problem)
  }
}

/** How many are named; of more only that there are. */
const namedMax = 5

/** Who holds a role, as far as one may see it. */
async function holdersOf(role: string): Promise<string> {
  if (!mayHere('users', 'read')) return 'a user or an API key that you may not see'
  const names: string[] = []
  for await (const page of client.pages('GET /iam/users', { query: { ...tenantQuery(), limit: '1000' } })) {
    names.push(...page.filter(({ roles }) => roles.includes(role)).map(({ name }) => name))
    if (names.length > namedMax) break
  }
  const keys = await client.call('GET /iam/api-keys', { query: tenantQuery() })
  names.push(...keys.filter(({ roles }) => roles.includes(role)).map(({ name }) => `the API key ${name}`))
  const shown = names.slice(0, namedMax).join(', ')
  return names.length > namedMax ? `${shown} and others` : shown || 'somebody who was given it just now'
}
