import { isDeepStrictEqual } from 'node:util'
import { newEdit } from '#actors/edit'
import { keep } from '#actors/kept'
import type { IdentityNotices } from '#actors/notices'
import { quotaFault } from '#actors/tenant/authored'
import type { DeleteRole, PutRole, RoleSettled } from '#actors/tenant/commands'
import { roleRecord, type StoredRole, type TenantState } from '#actors/tenant/state'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import { builtInRoles, isBuiltIn } from '#model/role'
import type { Grant } from '#model/scope'
import { answer, type Decision, record, refuse, type Turn } from '#runtime/actor'

/** Of one tenant, beside those that every tenant has: all are in memory. */
export const rolesMax = 1_000

/** Contract 2. One that is put again unchanged means what it meant: nobody has to read anything again. */
export function decidePutRole(
  state: TenantState,
  { role, grants, author, isNarrow }: PutRole,
  turn: Turn,
  notices: IdentityNotices,
): Decision<Entry> {
  const { tenant, roles } = state
  if (isBuiltIn(role)) return refuse(builtIn())
  const before = roles.get(role)
  // Recorded, and not just answered: while the store takes no writes nobody can say that it stays so.
  if (before && isDeepStrictEqual(before.grants, grants)) return record([], { answer: { isNew: false } })
  const makers = [...roles.values()].map(({ createdBy }) => createdBy)
  const full = before ? undefined : quotaFault(state, makers, { author, isNarrow }, { max: rolesMax, what: 'roles' })
  if (full) return refuse(full)
  const createdBy = before ? before.createdBy : author
  // Nobody can have heard anything by a role that was not there.
  const since = before ? null : -1
  const stored: StoredRole = { grants, since, edit: newEdit(turn), ...(createdBy !== undefined && { createdBy }) }
  return keep([{ name: roleRecord(role), value: stored }], {
    effects: [() => notices.rolesChanged(tenant, role, stored)],
    answer: { isNew: !before },
  })
}

/** Contract 2: not one in use. Who of the users holds it is known elsewhere, and was looked at before. */
export function decideDeleteRole(
  { tenant, roles, apiKeys }: TenantState,
  { role }: DeleteRole,
  notices: IdentityNotices,
): Decision<Entry> {
  if (isBuiltIn(role)) return refuse(builtIn())
  if (!roles.has(role)) return refuse(new Problem('not_found'))
  if ([...apiKeys.values()].some((key) => key.roles.includes(role))) {
    return refuse(new Problem('conflict', 'the role is in use'))
  }
  return keep([{ name: roleRecord(role), value: null }], {
    effects: [() => notices.rolesChanged(tenant, role, undefined)],
  })
}

/** Of an edit that is not the last one it says nothing: that one has its own, which comes later. */
export function decideRoleSettled({ roles }: TenantState, { role, edit, since }: RoleSettled): Decision<Entry> {
  const stored = roles.get(role)
  if (!stored || stored.edit !== edit || stored.since !== null) return answer(undefined)
  return keep([{ name: roleRecord(role), value: { ...stored, since } }])
}

/** The grants of a role of a tenant; undefined when there is no such role. */
export function grantsOfRole({ roles }: Pick<TenantState, 'roles'>, role: string): readonly Grant[] | undefined {
  return isBuiltIn(role) ? builtInRoles[role] : roles.get(role)?.grants
}

/** The grants of these roles together. */
export function grantsOfRoles(state: Pick<TenantState, 'roles'>, roles: readonly string[]): readonly Grant[] {
  return roles.flatMap((role) => grantsOfRole(state, role) ?? [])
}

function builtIn(): Problem {
  return new Problem('conflict', 'the role is built in')
}
