import { isDeepStrictEqual } from 'node:util'
import { newEditId, recordsWithoutEntry } from '#actors/record-actor'
import { answerUnchanged, authorshipAfter, creatorsOf, quotaFault, refusePut } from '#actors/tenant/authorship'
import { membersFault } from '#actors/tenant/bindings'
import type { DeleteGroup, PutGroup } from '#actors/tenant/commands'
import { rolesNaming } from '#actors/tenant/roles'
import { groupPrefix, rolePrefix, type StoredRole, type TenantState } from '#actors/tenant/state'
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
  if (isSame) return answerUnchanged(before)
  const quota = { max: groupsMax, what: 'groups' }
  const full = before ? undefined : quotaFault(state, creatorsOf(state.groups), { author, isNarrow }, quota)
  const problem = full ?? membersFault(state, id, devices.length)
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
}

/** Contract 5.1, 12. A group that an alarm, a function or a role names is not deleted. */
export function decideDeleteGroup(state: TenantState, { id }: DeleteGroup): Decision<Entry> {
  if (!state.groups.has(id)) return refuse(new Problem('not_found'))
  if (state.bindings.uses.has(id) || rolesNaming(state, id).length > 0)
    return refuse(new Problem('conflict', 'the group is in use'))
  return recordsWithoutEntry([{ name: `${groupPrefix}${id}`, value: null }])
}
