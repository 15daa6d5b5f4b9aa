import { isDeepStrictEqual } from 'node:util'
import { newEdit, recordOnly } from '#actors/record-actor'
import { quotaFault } from '#actors/tenant/authorship'
import type { DeleteRole, PutRole, RoleSettled } from '#actors/tenant/commands'
import { roleRecord, type StoredRole, type TenantState } from '#actors/tenant/state'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import { builtInRoles, isBuiltIn } from '#model/role'
import type { Grant } from '#model/scope'
import { answer, type Decision, record, refuse, type Turn } from '#runtime/actor'

/** Maximum for one tenant, without the built-in roles: all are in memory. */
export const rolesMax = 1_000

/** Contract 2. An unchanged role keeps its meaning, so no client has to read the full state again. */
export function decidePutRole(
  state: TenantState,
  { role, grants, author, isNarrow }: PutRole,
  turn: Turn,
): Decision<Entry> {
  const { roles } = state
  if (isBuiltIn(role)) return refuse(builtIn())
  const before = roles.get(role)
  // Recorded, so that the answer waits for a commit: while the store fails, this state may still be rolled back.
  if (before && isDeepStrictEqual(before.grants, grants)) return record([], { answer: { isNew: false } })
  const creators = [...roles.values()].map(({ createdBy }) => createdBy)
  const full = before ? undefined : quotaFault(state, creators, { author, isNarrow }, { max: rolesMax, what: 'roles' })
  if (full) return refuse(full)
  const createdBy = before ? before.createdBy : author
  // No client can have received events by a role that did not exist.
  const since = before ? null : -1
  const stored: StoredRole = { grants, since, edit: newEdit(turn), ...(createdBy !== undefined && { createdBy }) }
  return recordOnly([{ name: roleRecord(role), value: stored }], {
    answer: { isNew: !before },
  })
}

/**
 * Contract 2: a role in use is not deleted. The directory knows the users with the role; the caller has checked them.
 */
export function decideDeleteRole({ roles, apiKeys }: TenantState, { role }: DeleteRole): Decision<Entry> {
  if (isBuiltIn(role)) return refuse(builtIn())
  if (!roles.has(role)) return refuse(new Problem('not_found'))
  if ([...apiKeys.values()].some((key) => key.roles.includes(role))) {
    return refuse(new Problem('conflict', 'the role is in use'))
  }
  return recordOnly([{ name: roleRecord(role), value: null }])
}

/** Only the latest edit is settled; a later edit sends its own command. */
export function decideRoleSettled({ roles }: TenantState, { role, edit, since }: RoleSettled): Decision<Entry> {
  const stored = roles.get(role)
  if (!stored || stored.edit !== edit || stored.since !== null) return answer(undefined)
  return recordOnly([{ name: roleRecord(role), value: { ...stored, since } }])
}

/** The grants of a role; undefined if the tenant has no such role. */
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
