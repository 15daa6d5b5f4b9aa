import type { AccessView, PublishedUser } from '#access/accesses'
import { directoryAddress } from '#actors/directory/address'
import { tenantRows } from '#actors/directory/queries'
import type { DirectoryState, UserRow } from '#actors/directory/state'
import { tenantAddress } from '#actors/tenant/address'
import type { Entry } from '#model/entry'
import type { System } from '#runtime/system'

/** An edit of rights that is stored, while it is not stored yet from which offset on it holds. */
export type Unsettled =
  | { readonly type: 'role'; readonly tenant: string; readonly role: string; readonly edit: number }
  | { readonly type: 'user'; readonly tenant: string; readonly user: string; readonly edit: number }

export interface ReadView extends AccessView {
  readonly unsettled: readonly Unsettled[]
}

/**
 * The view as the actors have it. An edit whose offset is not known yet holds from the last offset there is: whoever heard
 * no further reads the full state again, which he may not need to, and never the other way round. Contract 4.4.
 */
export function readView(system: System<Entry>, lastOf: (tenant: string) => number): ReadView {
  const directory = system.wake(directoryAddress)
  const unsettled: Unsettled[] = []
  const tenants = tenantRows(directory).map(({ tenantIdentifier: tenant }) => {
    const roles = [...system.wake(tenantAddress(tenant)).roles].map(([role, { grants, since, edit }]) => {
      if (since === null) unsettled.push({ type: 'role', tenant, role, edit })
      return { role, grants, since: since ?? lastOf(tenant) }
    })
    return { tenant, roles }
  })
  const users = publishedUsers(directory, lastOf, unsettled)
  return { tenants, users, unsettled }
}

function publishedUsers(
  { users, tenants }: DirectoryState,
  lastOf: (tenant: string) => number,
  unsettled: Unsettled[],
): readonly PublishedUser[] {
  const published: PublishedUser[] = []
  for (const row of users.values()) {
    const { id, tenant, rolesSince, rolesEdit } = row
    if (tenants.get(tenant)?.state !== 'active') continue
    if (rolesSince === null) unsettled.push({ type: 'user', tenant, user: id, edit: rolesEdit })
    if (row.state === 'active') published.push(publishedUser(row, rolesSince ?? lastOf(tenant)))
  }
  return published
}

export function publishedUser({ id, tenant, name, roles, email }: UserRow, rolesSince: number): PublishedUser {
  return { id, tenant, name, roles, rolesSince, email }
}
