import type { Item } from '#client/client'
import { apiUrl } from '#dashboard/address'
import { KeysSection } from '#dashboard/pages/administration/keys-section'
import { RoleChoice } from '#dashboard/pages/administration/role-choice'
import { mayHere, tenantOption, tenantQuery } from '#dashboard/pages/administration/tenant-choice'
import { beyond } from '#dashboard/pages/administration/user-forms'
import { RoleNames } from '#dashboard/pages/administration/users'
import { Command, Empty } from '#dashboard/parts/empty'
import { explained } from '#dashboard/parts/explained'
import type { Column } from '#dashboard/parts/table'
import { client } from '#dashboard/session'

type ApiKey = Item<'GET /iam/api-keys'>

const columns: readonly Column<ApiKey>[] = [
  { key: 'roles', title: 'Roles', cell: ({ roles }) => <RoleNames roles={roles} /> },
]

const noRoles: readonly string[] = []

/** Keys of programs, which act as users with roles of their own. Contract 2. */
export function ApiKeys() {
  const mayMake = mayHere('users', 'create')
  return (
    <KeysSection
      kind="API key"
      read={() => client.call('GET /iam/api-keys', { query: tenantQuery() })}
      mayMake={mayMake}
      mayDelete={mayHere('users', 'delete')}
      columns={columns}
      empty={
        <Empty
          title="There is no API key yet"
          command={mayMake ? `npm run -s admin -- key add api reporting --role viewer${tenantOption()}` : undefined}
        >
          A program acts by one as a user with its roles.
          {mayMake && ' Make it above, or from the command line.'}
        </Empty>
      }
      nameHint="What the program is."
      first={noRoles}
      fields={(roles, change) => <RoleChoice roles={roles} onChange={change} />}
      make={(key, roles) => {
        const body = { ...key, roles: [...roles] }
        return explained(client.call('POST /iam/api-keys', { query: tenantQuery(), body }), { 403: beyond })
      }}
      use={({ key }) => (
        <>
          <p>A program sends it with every request:</p>
          <Command command={`curl -H 'X-API-Key: ${key}' ${apiUrl()}/devices`} />
        </>
      )}
      remove={({ id }) => {
        const call = client.call('DELETE /iam/api-keys/:id', { parameters: { id }, query: tenantQuery() })
        return explained(call, { 403: beyond })
      }}
      endsWith="its sockets"
      loss={({ name, roles }) =>
        `Whatever program uses ${name} is refused from now on, and its sockets are closed. Its roles were ${
          roles.join(', ') || 'none'
        }.`
      }
    />
  )
}
