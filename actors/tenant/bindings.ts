import { putIn, type TenantState } from '#actors/tenant/state'
import { alarmBindingsMax, type StoredAlarm } from '#model/alarm'
import type { StoredFunction } from '#model/function'
import type { DeviceBinding, StoredGroup } from '#model/group'
import { Problem } from '#model/problem'

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

/** The error of giving a group this number of members; undefined for none. */
export function membersFault(state: TenantState, group: string, members: number): Problem | undefined {
  return tooManyAt(state.bindings.total + bindingsAdded(state, group, members))
}

export function putAlarm(state: TenantState, id: string, stored: StoredAlarm | null): void {
  putBound(state, state.alarms, id, stored)
}

export function putFunction(state: TenantState, id: string, stored: StoredFunction | null): void {
  putBound(state, state.functions, id, stored)
}

export function putGroup(state: TenantState, id: string, stored: StoredGroup | null): void {
  state.bindings.total += bindingsAdded(state, id, stored?.devices.length ?? 0)
  putIn(state.groups, id, stored)
}

function tooManyAt(total: number): Problem | undefined {
  if (total <= alarmBindingsMax) return undefined
  return new Problem(
    'conflict',
    `the alarms and functions of a tenant are bound to at most ${alarmBindingsMax} devices by name`,
  )
}

function putBound<Stored extends DeviceBinding>(
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
