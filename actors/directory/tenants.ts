import { isDeepStrictEqual } from 'node:util'
import type { AddTenant, DeleteTenantStep, NewTenant, UpdateTenant } from '#actors/directory/commands'
import { tenantRow } from '#actors/directory/queries'
import { type DirectoryState, type TenantRow, tenantRecord, userRecord } from '#actors/directory/state'
import { recordsWithoutEntry } from '#actors/record-actor'
import { defaultTenant } from '#actors/tenant/state'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import { type Decision, record, refuse, type Turn } from '#runtime/actor'

/** Limited, because each tenant needs a stream, a counter and rows in memory. */
export const tenantsMax = 10_000
/** Maximum number of users that one turn removes, so that the turn is not longer than other turns. */
export const removedUsersMax = 1_000

/**
 * A name is reserved until all data of its previous tenant is removed. Otherwise the removal would delete data of the
 * new tenant.
 */
export function decideAddTenant(
  state: DirectoryState,
  { tenant, isRepeated }: AddTenant,
  { now }: Turn,
): Decision<Entry> {
  const existing = state.tenants.get(tenant.tenantIdentifier)
  // `existing` is possibly not stored yet. `record` without events answers after the next commit, or refuses if it
  // fails.
  if (existing && isRepeated && isSameTenant(existing, tenant)) return record([], { answer: existing })
  if (existing)
    return refuse(
      new Problem('conflict', existing.state === 'active' ? 'the tenant exists' : 'the tenant is being deleted'),
    )
  if (state.tenants.size >= tenantsMax) {
    return refuse(new Problem('conflict', `a server has at most ${tenantsMax} tenants`))
  }
  return storeTenant({ ...tenant, createdAt: now, state: 'active' })
}

export function decideUpdateTenant(state: DirectoryState, { tenant, change }: UpdateTenant): Decision<Entry> {
  const before = tenantRow(state, tenant)
  if (!before) return refuse(new Problem('not_found'))
  return storeTenant({ ...before, ...change })
}

/** The tenant is unreachable at once (contract 2). The default tenant, which manages the others, cannot be deleted. */
export function decideDeleteTenant(state: DirectoryState, { tenant }: DeleteTenantStep): Decision<Entry> {
  if (tenant === defaultTenant) return refuse(new Problem('conflict', `tenant ${defaultTenant} always exists`))
  const before = tenantRow(state, tenant)
  if (!before) return refuse(new Problem('not_found'))
  return storeTenant({ ...before, state: 'deleting' })
}

/** Removes only rows of the directory. Accounts and sessions are removed with the other data of the tenant. */
export function decideForgetUsers(state: DirectoryState, { tenant }: DeleteTenantStep): Decision<Entry> {
  if (state.tenants.get(tenant)?.state !== 'deleting') return refuse(new Problem('not_found'))
  const names = state.byTenant.get(tenant)
  const forgotten = (names?.after('', removedUsersMax) ?? []).flatMap((name) => state.byName.get(name) ?? [])
  return recordsWithoutEntry(
    forgotten.map((user) => ({ name: userRecord(user), value: null })),
    {
      answer: (names?.size ?? 0) - forgotten.length,
    },
  )
}

export function decideRemoveTenant(state: DirectoryState, { tenant }: DeleteTenantStep): Decision<Entry> {
  if (state.tenants.get(tenant)?.state !== 'deleting') return refuse(new Problem('not_found'))
  if (state.byTenant.has(tenant)) return refuse(new Problem('conflict', 'the tenant still has users'))
  return recordsWithoutEntry([{ name: tenantRecord(tenant), value: null }])
}

function isSameTenant({ createdAt, ...row }: TenantRow, tenant: NewTenant): boolean {
  return isDeepStrictEqual(row, { ...tenant, state: 'active' })
}

function storeTenant(row: TenantRow): Decision<Entry> {
  return recordsWithoutEntry([{ name: tenantRecord(row.tenantIdentifier), value: row }], {
    answer: row,
  })
}
