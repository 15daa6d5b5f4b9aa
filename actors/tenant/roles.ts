import { isDeepStrictEqual } from 'node:util'
import { type Decisions, newEditId, recordsWithoutEntry } from '#actors/record-actor'
import { quotaFault } from '#actors/tenant/authorship'
import type { TenantCommands } from '#actors/tenant/commands'
import { rolePrefix, type StoredRole, type TenantState } from '#actors/tenant/state'
import { Problem } from '#model/problem'
import { builtInRoles, isBuiltIn } from '#model/role'
import type { Grant } from '#model/scope'
import { answer, record, refuse } from '#runtime/actor'

/** Maximum for one tenant, without the built-in roles: all are in memory. */
export const rolesMax = 1_000

export const roleDecisions = {
  /** Contract 2. An unchanged role keeps its meaning, so no client has to read the full state again. */
  put_role(state, { role, grants, author, isNarrow }, turn) {
    const { roles } = state
    if (isBuiltIn(role)) return refuse(builtIn())
    const before = roles.get(role)
    // Recorded, so that the answer waits for a commit: while the store fails, this state may still be rolled back.
    if (before && isDeepStrictEqual(before.grants, grants)) return record([], { answer: { isNew: false } })
    const fault = groupsFault(state, role, grants)
    if (fault) return refuse(fault)
    const creators = [...roles.values()].map(({ createdBy }) => createdBy)
    const full = before
      ? undefined
      : quotaFault(state, creators, { author, isNarrow }, { max: rolesMax, what: 'roles' })
    if (full) return refuse(full)
    const createdBy = before ? before.createdBy : author
    // No client can have received events by a role that did not exist.
    const since = before ? null : -1
    const stored: StoredRole = { grants, since, edit: newEditId(turn), ...(createdBy !== undefined && { createdBy }) }
    return recordsWithoutEntry([{ name: `${rolePrefix}${role}`, value: stored }], {
      answer: { isNew: !before },
    })
  },

  /**
   * Contract 2: a role in use is not deleted. The directory knows the users with the role; the caller has checked them.
   */
  delete_role({ roles, apiKeys }, { role }) {
    if (isBuiltIn(role)) return refuse(builtIn())
    if (!roles.has(role)) return refuse(new Problem('not_found'))
    if ([...apiKeys.values()].some((key) => key.roles.includes(role))) {
      return refuse(new Problem('conflict', 'the role is in use'))
    }
    return recordsWithoutEntry([{ name: `${rolePrefix}${role}`, value: null }])
  },

  /** Only the latest edit is settled; a later edit sends its own command. */
  role_settled({ roles }, { role, edit, since }) {
    const stored = roles.get(role)
    if (!stored || stored.edit !== edit || stored.since !== null) return answer(undefined)
    return recordsWithoutEntry([{ name: `${rolePrefix}${role}`, value: { ...stored, since } }])
  },
} satisfies Partial<Decisions<TenantState, TenantCommands>>

/** Limit for all names in the roles that name one group: an edit of the group stores these roles again, in one turn. */
const namesWithGroupMax = 50_000

/** The error if a group does not exist, or if the roles that name it have too many names; undefined for none. */
function groupsFault(state: TenantState, role: string, grants: readonly Grant[]): Problem | undefined {
  const details = grants.flatMap(({ groups = [] }, place) =>
    groups.flatMap((group, index) =>
      state.groups.has(group) ? [] : [{ path: `grants.${place}.groups.${index}`, message: 'the group does not exist' }],
    ),
  )
  if (details.length > 0) return new Problem('invalid', undefined, { details })
  const totals = new Map([...groupsIn(grants)].map((group) => [group, namesIn(grants)]))
  if (totals.size === 0) return undefined
  for (const [name, other] of state.roles) {
    if (name === role) continue
    for (const group of groupsIn(other.grants)) {
      const total = totals.get(group)
      if (total !== undefined) totals.set(group, total + namesIn(other.grants))
    }
  }
  if (Math.max(...totals.values()) <= namesWithGroupMax) return undefined
  return new Problem('conflict', `the roles that name a group have at most ${namesWithGroupMax} names together`)
}

function groupsIn(grants: readonly Grant[]): ReadonlySet<string> {
  return new Set(grants.flatMap(({ groups = [] }) => groups))
}

function namesIn(grants: readonly Grant[]): number {
  return grants.reduce(
    (sum, { devices, services, groups = [] }) => sum + devices.length + services.length + groups.length,
    0,
  )
}

/** The grants of a role; undefined if the tenant has no such role. */
export function grantsOfRole({ roles }: Pick<TenantState, 'roles'>, role: string): readonly Grant[] | undefined {
  return isBuiltIn(role) ? builtInRoles[role] : roles.get(role)?.grants
}

/** The roles with a grant that names this group. */
export function rolesNaming({ roles }: Pick<TenantState, 'roles'>, group: string): readonly [string, StoredRole][] {
  return [...roles].filter(([, { grants }]) => grants.some((grant) => namesGroup(grant, group)))
}

export function namesGroup({ groups = [] }: Grant, group: string): boolean {
  return groups.includes(group)
}

/** The grants of these roles together. */
export function grantsOfRoles(state: Pick<TenantState, 'roles'>, roles: readonly string[]): readonly Grant[] {
  return roles.flatMap((role) => grantsOfRole(state, role) ?? [])
}

function builtIn(): Problem {
  return new Problem('conflict', 'the role is built in')
}
