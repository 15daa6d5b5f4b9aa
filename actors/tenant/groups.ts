import { isDeepStrictEqual } from 'node:util'
import { newEdit } from '#actors/edit'
import { keep } from '#actors/kept'
import type { RuleNotices } from '#actors/rule-notices'
import { bindingsAdded } from '#actors/tenant/bindings'
import type { DeleteGroup, PutGroup } from '#actors/tenant/commands'
import { groupRecord, type TenantState } from '#actors/tenant/state'
import { alarmBindingsMax } from '#model/alarm'
import type { Entry } from '#model/entry'
import { groupsMax, type StoredGroup } from '#model/group'
import { Problem } from '#model/problem'
import { type Decision, refuse, type Turn } from '#runtime/actor'

/** Contract 5.1. One that is put again unchanged stays who changed it last. No event tells of groups. */
export function decidePutGroup(
  state: TenantState,
  { id, isNew, body, author }: PutGroup,
  turn: Turn,
  rules: RuleNotices,
): Decision<Entry> {
  const { name, devices } = body
  const before = state.groups.get(id)
  const isSame = before !== undefined && isDeepStrictEqual([before.name, before.devices], [name, devices])
  // Whoever makes one again by the same id asks again, not having heard the answer.
  if (isNew && before && !(isSame && before.createdBy === author)) {
    return refuse(new Problem('conflict', 'the id is taken'))
  }
  if (!isNew && !before) return refuse(new Problem('not_found'))
  // Recorded, and not just answered: while the store takes no writes nobody can say that it stays so.
  if (before && isSame) return keep([], { answer: before })
  if (!before && state.groups.size >= groupsMax) {
    return refuse(new Problem('conflict', `a tenant has at most ${groupsMax} groups`))
  }
  if (state.bindings.total + bindingsAdded(state, id, devices.length) > alarmBindingsMax) {
    return refuse(
      new Problem('conflict', `the alarms of a tenant are bound to at most ${alarmBindingsMax} devices by name`),
    )
  }
  const stored: StoredGroup = {
    name,
    devices,
    createdBy: before?.createdBy ?? author,
    createdAt: before?.createdAt ?? turn.now,
    updatedBy: author,
    updatedAt: turn.now,
    edit: newEdit(turn),
  }
  return keep([{ name: groupRecord(id), value: stored }], {
    effects: [() => rules.groupChanged(state.tenant, id, stored)],
    answer: stored,
  })
}

/** Contract 5.1. Not one that an alarm names. */
export function decideDeleteGroup(
  { tenant, groups, bindings }: TenantState,
  { id }: DeleteGroup,
  rules: RuleNotices,
): Decision<Entry> {
  if (!groups.has(id)) return refuse(new Problem('not_found'))
  if (bindings.uses.has(id)) return refuse(new Problem('conflict', 'the group is in use'))
  return keep([{ name: groupRecord(id), value: null }], {
    effects: [() => rules.groupChanged(tenant, id, undefined)],
  })
}
