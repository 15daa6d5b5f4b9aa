import { putIn, type TenantState } from '#actors/tenant/state'
import type { StoredAlarm } from '#model/alarm'
import type { Bound } from '#model/bound'
import type { StoredGroup } from '#model/group'

/** What alarms are bound to by name. It follows from alarms and groups, whichever came first. */
export interface BindingCounts {
  /** Devices, groups counted by their members. */
  total: number
  /** How many alarms name each group; none has no row. */
  readonly uses: Map<string, number>
}

/** How many devices it names; of groups that are not there, none. */
export function bindingsOf({ groups }: TenantState, bound: Bound): number {
  const members = (bound.groups ?? []).map((group) => groups.get(group)?.devices.length ?? 0)
  return members.reduce((sum, count) => sum + count, bound.devices?.length ?? 0)
}

/** How many more it would be if a group had so many members. */
export function bindingsAdded({ groups, bindings }: TenantState, group: string, members: number): number {
  return (bindings.uses.get(group) ?? 0) * (members - (groups.get(group)?.devices.length ?? 0))
}

export function putAlarm(state: TenantState, id: string, stored: StoredAlarm | null): void {
  const before = state.alarms.get(id)
  if (before) count(state, before, -1)
  putIn(state.alarms, id, stored)
  if (stored) count(state, stored, 1)
}

export function putGroup(state: TenantState, id: string, stored: StoredGroup | null): void {
  state.bindings.total += bindingsAdded(state, id, stored?.devices.length ?? 0)
  putIn(state.groups, id, stored)
}

function count(state: TenantState, bound: Bound, times: 1 | -1): void {
  const { bindings } = state
  bindings.total += times * bindingsOf(state, bound)
  for (const group of bound.groups ?? []) {
    const uses = (bindings.uses.get(group) ?? 0) + times
    putIn(bindings.uses, group, uses === 0 ? null : uses)
  }
}
