import { isDeepStrictEqual } from 'node:util'
import { newEdit, recordOnly } from '#actors/record-actor'
import { authorshipAfter, creatorsOf, quotaFault, refusePut, unchanged } from '#actors/tenant/authorship'
import { membersFault } from '#actors/tenant/bindings'
import type { DeleteGroup, PutGroup } from '#actors/tenant/commands'
import { groupRecord, type TenantState } from '#actors/tenant/state'
import type { Entry } from '#model/entry'
import { groupsMax, type StoredGroup } from '#model/group'
import { Problem } from '#model/problem'
import { type Decision, refuse, type Turn } from '#runtime/actor'

/** Contract 5.1. Putting an unchanged group keeps the last editor. */
export function decidePutGroup(
  state: TenantState,
  { id, isNew, body, author, isNarrow }: PutGroup,
  turn: Turn,
): Decision<Entry> {
  const { name, devices } = body
  const before = state.groups.get(id)
  const isSame = before !== undefined && isDeepStrictEqual([before.name, before.devices], [name, devices])
  const refusal = refusePut(before, { isNew, author }, isSame)
  if (refusal) return refusal
  if (isSame) return unchanged(before)
  const quota = { max: groupsMax, what: 'groups' }
  const full = before ? undefined : quotaFault(state, creatorsOf(state.groups), { author, isNarrow }, quota)
  const problem = full ?? membersFault(state, id, devices.length)
  if (problem) return refuse(problem)
  const stored: StoredGroup = { name, devices, ...authorshipAfter(before, author, turn), edit: newEdit(turn) }
  return recordOnly([{ name: groupRecord(id), value: stored }], {
    answer: stored,
  })
}

/** Contract 5.1. A group that an alarm or function names is not deleted. */
export function decideDeleteGroup({ groups, bindings }: TenantState, { id }: DeleteGroup): Decision<Entry> {
  if (!groups.has(id)) return refuse(new Problem('not_found'))
  if (bindings.uses.has(id)) return refuse(new Problem('conflict', 'the group is in use'))
  return recordOnly([{ name: groupRecord(id), value: null }], {})
}
