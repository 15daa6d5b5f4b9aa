import { roleKey } from '#actors/directory/rows'
import { type DirectoryState, directoryAddress, type TenantRow, type UserRow } from '#actors/directory/state'
import { defaultTenant } from '#actors/tenant/state'
import type { Entry } from '#model/entry'
import { foldEmail, foldName } from '#model/user'
import type { System } from '#runtime/system'

/**
 * Read access to the directory. A tenant that is being deleted and its users are invisible, because contract 2 requires
 * that they are unreachable at once.
 */

/** Every tenant except those that are being deleted. @throws Problem `storage` */
export function activeTenants(system: System<Entry>): Iterable<string> {
  const rows = tenantRows(system.peek(directoryAddress))
  return new Set([defaultTenant, ...rows.map(({ tenantIdentifier }) => tenantIdentifier)])
}

/**
 * False if the tenant does not exist or is being deleted: none of its actors may be asked. @throws Problem `storage`
 */
export function isTenantActive(system: System<Entry>, tenant: string): boolean {
  return tenant === defaultTenant || tenantRow(system.peek(directoryAddress), tenant) !== undefined
}

export function tenantRow(state: DirectoryState, tenant: string): TenantRow | undefined {
  const row = state.tenants.get(tenant)
  return row?.state === 'active' ? row : undefined
}

/** Sorted by identifier. */
export function tenantRows(state: DirectoryState): readonly TenantRow[] {
  const rows = [...state.tenants.values()].filter((row) => row.state === 'active')
  return rows.sort((a, b) => compare(a.tenantIdentifier, b.tenantIdentifier))
}

export function rowById(state: DirectoryState, id: string): UserRow | undefined {
  const row = state.users.get(id)
  return row && tenantRow(state, row.tenant) ? row : undefined
}

/** Ignores case. */
export function rowByName(state: DirectoryState, name: string): UserRow | undefined {
  const id = state.byName.get(foldName(name))
  return id === undefined ? undefined : rowById(state, id)
}

/** Users of one tenant, sorted by name: the first ones after a name, ignoring case. '' sorts before all names. */
export function rowsAfter(state: DirectoryState, tenant: string, name: string, countMax: number): readonly UserRow[] {
  if (!tenantRow(state, tenant)) return []
  const folded = state.byTenant.get(tenant)?.after(foldName(name), countMax) ?? []
  return folded.flatMap((each) => state.users.get(state.byName.get(each) ?? '') ?? [])
}

/**
 * The users that may sign in with this text, a name or an e-mail address, under this host: only active users, in the
 * order of their tenants. Contract 2, Login.
 */
export function rowsByLogin(state: DirectoryState, text: string, host: string): readonly UserRow[] {
  const named = state.byName.get(foldName(text))
  const ids = new Set(state.byEmail.get(foldEmail(text)))
  if (named !== undefined) ids.add(named)
  const rows = [...ids].flatMap((id) => rowById(state, id) ?? [])
  return rows
    .filter((row) => row.state === 'active' && isReachable(state, row.tenant, host))
    .sort((a, b) => compare(a.tenant, b.tenant) || compare(a.id, b.id))
}

/** The highest number of users with the same e-mail address, in all tenants and under all hosts. */
export function emailUseMax({ emailUse }: DirectoryState): number {
  return Math.max(0, ...emailUse.keys())
}

/** Whether users of a tenant may sign in under this host, as named by a request. */
export function isReachable(state: DirectoryState, tenant: string, host: string): boolean {
  const row = tenantRow(state, tenant)
  if (!row) return false
  if (row.hosts.length === 0) return true
  const lowerCaseHost = host.toLowerCase()
  return row.hosts.includes(lowerCaseHost) || row.hosts.includes(lowerCaseHost.replace(/:\d+$/, ''))
}

/** Whether a user has the role. The tenant checks whether an API key has it. */
export function isRoleUsed(state: DirectoryState, tenant: string, role: string): boolean {
  return state.roleUse.has(roleKey(tenant, role))
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
