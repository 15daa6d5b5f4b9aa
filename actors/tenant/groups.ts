import { isDeepStrictEqual } from 'node:util'
import { type Decisions, newEditId, putIn, recordsWithoutEntry } from '#actors/record-actor'
import { answerUnchanged, authorshipAfter, creatorsOf, quotaFault, refusePut } from '#actors/tenant/authorship'
import type { TenantCommands } from '#actors/tenant/commands'
import { rolesNaming } from '#actors/tenant/roles'
import { groupPrefix, rolePrefix, type StoredRole, type TenantState } from '#actors/tenant/state'
import { alarmBindingsMax } from '#model/alarm'
import { type DeviceBinding, groupsMax, type StoredGroup } from '#model/group'
import { Problem } from '#model/problem'
import { refuse } from '#runtime/actor'

export const groupDecisions = {
  /** Contract 5.1. Putting an unchanged group keeps the last editor. */
  put_group(state, { id, isNew, body, author, isNarrow }, turn) {
    const { name, devices } = body
    const before = state.groups.get(id)
    const isSame = before !== undefined && isDeepStrictEqual([before.name, before.devices], [name, devices])
    const refusal = refusePut(before, { isNew, author }, isSame)
    if (refusal) return refusal
    if (isSame) return answerUnchanged(before)
    const quota = { max: groupsMax, what: 'groups' }
    const full = before ? undefined : quotaFault(state, creatorsOf(state.groups), { author, isNarrow }, quota)
    const problem = full ?? tooManyAt(state.bindings.total + bindingsAdded(state, id, devices.length))
    if (problem) return refuse(problem)
    const stored: StoredGroup = { name, devices, ...authorshipAfter(before, author, turn), edit: newEditId(turn) }
    const hasSameMembers = isDeepStrictEqual(before?.devices, devices)
    const roles = hasSameMembers ? [] : rolesNaming(state, id)
    return recordsWithoutEntry(
      [
        { name: `${groupPrefix}${id}`, value: stored },
        // The new members change the permissions of these roles. The roles are published after the group.
        ...roles.map(([role, before]) => {
          const value: StoredRole = { ...before, since: null, edit: newEditId(turn) }
          return { name: `${rolePrefix}${role}`, value }
        }),
      ],
      { answer: stored },
    )
  },

  /** Contract 5.1, 12. A group that an alarm, a function or a role names is not deleted. */
  delete_group(state, { id }) {
    if (!state.groups.has(id)) return refuse(new Problem('not_found'))
    if (state.bindings.uses.has(id) || rolesNaming(state, id).length > 0)
      return refuse(new Problem('conflict', 'the group is in use'))
    return recordsWithoutEntry([{ name: `${groupPrefix}${id}`, value: null }])
  },
} satisfies Partial<Decisions<TenantState, TenantCommands>>

/** The number of devices that a rule is bound to; unknown groups count as empty. */
function bindingsOf({ groups }: TenantState, bound: DeviceBinding): number {
  const members = (bound.groups ?? []).map((group) => groups.get(group)?.devices.length ?? 0)
  return members.reduce((sum, count) => sum + count, bound.devices?.length ?? 0)
}

/** How many bindings a group would add if it had this number of members. */
function bindingsAdded({ groups, bindings }: TenantState, group: string, members: number): number {
  return (bindings.uses.get(group) ?? 0) * (members - (groups.get(group)?.devices.length ?? 0))
}

/** The error of binding a rule to these devices instead of `before`; undefined for none. */
export function bindingsFault(
  state: TenantState,
  wanted: DeviceBinding,
  before: DeviceBinding | undefined,
): Problem | undefined {
  return tooManyAt(state.bindings.total + bindingsOf(state, wanted) - (before ? bindingsOf(state, before) : 0))
}

export function putGroup(state: TenantState, id: string, stored: StoredGroup | null): void {
  state.bindings.total += bindingsAdded(state, id, stored?.devices.length ?? 0)
  putIn(state.groups, id, stored)
}

/** The error of this number of bindings; undefined for none. */
function tooManyAt(total: number): Problem | undefined {
  if (total <= alarmBindingsMax) return undefined
  return new Problem(
    'conflict',
    `the alarms and functions of a tenant are bound to at most ${alarmBindingsMax} devices by name`,
  )
}

/** Sets a rule, and counts its bindings. */
export function putBound<Stored extends DeviceBinding>(
  state: TenantState,
  all: Map<string, Stored>,
  id: string,
  stored: Stored | null,
): void {
  const before = all.get(id)
  if (before) count(state, before, -1)
  putIn(all, id, stored)
  if (stored) count(state, stored, 1)
}

function count(state: TenantState, bound: DeviceBinding, times: 1 | -1): void {
  const { bindings } = state
  bindings.total += times * bindingsOf(state, bound)
  for (const group of bound.groups ?? []) {
    const uses = (bindings.uses.get(group) ?? 0) + times
    putIn(bindings.uses, group, uses === 0 ? null : uses)
  }
}
