import { isDeepStrictEqual } from 'node:util'
import type { AddTenant, ChangeTenant, NewTenant, UpdateTenant } from '#actors/directory/commands'
import { tenantRow } from '#actors/directory/queries'
import { type DirectoryState, type TenantRow, tenantRecord, userRecord } from '#actors/directory/state'
import { keep } from '#actors/kept'
import type { IdentityNotices } from '#actors/notices'
import { defaultTenant } from '#actors/tenant/address'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import { type Decision, record, refuse, type Turn } from '#runtime/actor'

/** Each has a stream, a counter and its rows in memory. */
export const tenantsMax = 10_000
/** Users that one turn forgets, so that it holds the loop no longer than others do. */
export const forgottenMax = 1_000

/** A name is taken until nothing is left of who had it: else the sweep would take the new one's things. */
export function decideAddTenant(
  state: DirectoryState,
  { tenant, isRepeated }: AddTenant,
  { now }: Turn,
  notices: IdentityNotices,
): Decision<Entry> {
  const taken = state.tenants.get(tenant.tenantIdentifier)
  // Recorded, and not just answered: while the store takes no writes nobody can say that it stays so.
  if (taken && isRepeated && isAsAsked(taken, tenant)) return record([], { answer: taken })
  if (taken)
    return refuse(new Problem('conflict', taken.state === 'active' ? 'the tenant exists' : 'it is being deleted'))
  if (state.tenants.size >= tenantsMax) {
    return refuse(new Problem('conflict', `a server has at most ${tenantsMax} tenants`))
  }
  return stored({ ...tenant, createdAt: now, state: 'active' }, notices)
}

export function decideUpdateTenant(
  state: DirectoryState,
  { tenant, change }: UpdateTenant,
  notices: IdentityNotices,
): Decision<Entry> {
  const before = tenantRow(state, tenant)
  if (!before) return refuse(new Problem('not_found'))
  return stored({ ...before, ...change }, notices)
}

/** Contract 2: at once unreachable. The tenant in which the others are made can't go. */
export function decideDeleteTenant(
  state: DirectoryState,
  { tenant }: ChangeTenant,
  notices: IdentityNotices,
): Decision<Entry> {
  if (tenant === defaultTenant) return refuse(new Problem('conflict', `tenant ${defaultTenant} always exists`))
  const before = tenantRow(state, tenant)
  if (!before) return refuse(new Problem('not_found'))
  return stored({ ...before, state: 'deleting' }, notices)
}

/** Their accounts and sessions go with all else that lies under the tenant's name. */
export function decideForgetUsers(
  state: DirectoryState,
  { tenant }: ChangeTenant,
  notices: IdentityNotices,
): Decision<Entry> {
  if (state.tenants.get(tenant)?.state !== 'deleting') return refuse(new Problem('not_found'))
  const names = state.byTenant.get(tenant)
  const forgotten = (names?.after('', forgottenMax) ?? []).flatMap((name) => state.byName.get(name) ?? [])
  return keep(
    forgotten.map((user) => ({ name: userRecord(user), value: null })),
    {
      effects: forgotten.map((user) => () => notices.userChanged(tenant, user, undefined)),
      answer: (names?.size ?? 0) - forgotten.length,
    },
  )
}

export function decideTenantSwept(
  state: DirectoryState,
  { tenant }: ChangeTenant,
  notices: IdentityNotices,
): Decision<Entry> {
  if (state.tenants.get(tenant)?.state !== 'deleting') return refuse(new Problem('not_found'))
  if (state.byTenant.has(tenant)) return refuse(new Problem('conflict', 'it still has users'))
  return keep([{ name: tenantRecord(tenant), value: null }], {
    effects: [() => notices.tenantChanged(tenant, undefined)],
  })
}

function isAsAsked({ createdAt, ...row }: TenantRow, tenant: NewTenant): boolean {
  return isDeepStrictEqual(row, { ...tenant, state: 'active' })
}

function stored(row: TenantRow, notices: IdentityNotices): Decision<Entry> {
  return keep([{ name: tenantRecord(row.tenantIdentifier), value: row }], {
    effects: [() => notices.tenantChanged(row.tenantIdentifier, row)],
    answer: row,
  })
}
