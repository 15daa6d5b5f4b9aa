import { OrderedNames } from '#actors/directory/ordered-names'
import type { DirectoryState, TenantRow, UserRow } from '#actors/directory/state'
import { defaultTenant } from '#actors/tenant/state'
import { foldEmail, foldName } from '#model/user'

/** Each tenant needs a user with this role: without one, the tenant would be locked out. Contract 2, Built-in roles. */
export const administratorRole = 'admin'

export function emptyDirectory(): DirectoryState {
  const state: DirectoryState = {
    users: new Map(),
    byName: new Map(),
    byEmail: new Map(),
    emailUse: new Map(),
    byTenant: new Map(),
    administrators: new Map(),
    roleUse: new Map(),
    tenants: new Map(),
  }
  putTenant(state, defaultTenant, undefined)
  return state
}

/** Sets or replaces a user's row, or removes it if `row` is undefined, and updates all lookup tables. */
export function putUser(state: DirectoryState, id: string, row: UserRow | undefined): void {
  const before = state.users.get(id)
  if (before) dropUser(state, before)
  if (!row) return
  state.users.set(id, row)
  const name = foldName(row.name)
  state.byName.set(name, id)
  if (row.email !== null) changeUsersOf(state, foldEmail(row.email), (email) => addTo(state.byEmail, email, id))
  const names = state.byTenant.get(row.tenant) ?? new OrderedNames()
  names.add(name)
  state.byTenant.set(row.tenant, names)
  if (isAdministrator(row)) addTo(state.administrators, row.tenant, id)
  for (const role of row.roles) {
    const use = roleKey(row.tenant, role)
    state.roleUse.set(use, (state.roleUse.get(use) ?? 0) + 1)
  }
}

/** Reverses `putUser`. */
function dropUser(state: DirectoryState, row: UserRow): void {
  const { id } = row
  state.users.delete(id)
  const name = foldName(row.name)
  state.byName.delete(name)
  if (row.email !== null) changeUsersOf(state, foldEmail(row.email), (email) => dropFrom(state.byEmail, email, id))
  const names = state.byTenant.get(row.tenant)
  names?.delete(name)
  if (names?.size === 0) state.byTenant.delete(row.tenant)
  dropFrom(state.administrators, row.tenant, id)
  for (const role of row.roles) {
    const use = roleKey(row.tenant, role)
    const count = (state.roleUse.get(use) ?? 0) - 1
    if (count > 0) state.roleUse.set(use, count)
    else state.roleUse.delete(use)
  }
}

/** Undefined removes the row. The default tenant always exists: its row is reset instead. Contract 2. */
export function putTenant(state: DirectoryState, tenant: string, row: TenantRow | undefined): void {
  if (row) state.tenants.set(tenant, row)
  else if (tenant !== defaultTenant) state.tenants.delete(tenant)
  else state.tenants.set(tenant, defaultTenantRow)
}

export function isAdministrator({ state, roles }: UserRow): boolean {
  return state === 'active' && roles.includes(administratorRole)
}

export function roleKey(tenant: string, role: string): string {
  return `${tenant}/${role}`
}

const defaultTenantRow: TenantRow = Object.freeze({
  tenantIdentifier: defaultTenant,
  name: defaultTenant,
  hosts: [],
  twoFactor: 'optional',
  basic: true,
  createdAt: 0,
  state: 'active',
})

/** Runs `change`, which adds or removes a user of this address, and updates `emailUse`. */
function changeUsersOf({ byEmail, emailUse }: DirectoryState, email: string, change: (email: string) => void): void {
  const usersCount = () => byEmail.get(email)?.size ?? 0
  countAddress(emailUse, usersCount(), -1)
  change(email)
  countAddress(emailUse, usersCount(), 1)
}

/** Addresses without a user are not counted. The largest key must be in use, so counts of zero are removed. */
function countAddress(emailUse: Map<number, number>, usersCount: number, by: 1 | -1): void {
  if (usersCount === 0) return
  const addresses = (emailUse.get(usersCount) ?? 0) + by
  if (addresses > 0) emailUse.set(usersCount, addresses)
  else emailUse.delete(usersCount)
}

function addTo(index: Map<string, Set<string>>, key: string, id: string): void {
  const ids = index.get(key)
  if (ids) ids.add(id)
  else index.set(key, new Set([id]))
}

function dropFrom(index: Map<string, Set<string>>, key: string, id: string): void {
  const ids = index.get(key)
  if (ids?.delete(id) && ids.size === 0) index.delete(key)
}
