import type { GroupOption } from '#dashboard/binding/binding'
import { idOf } from '#dashboard/binding/binding'
import { mayI } from '#dashboard/session'
import type { Action } from '#model/scope'

/** Who may do what about firmware. Releases are for any device; rollouts for any, or for the members of groups. Contract 6. */

export function mayForAll(action: Action): boolean {
  return mayI('updates', action, { deviceIdentifier: '*' })
}

/** For the members of these groups, as far as one sees these, each of whom one has to reach; without groups, for all. */
export function mayForGroups(
  action: Action,
  groups: readonly string[] | undefined,
  known: readonly GroupOption[],
): boolean {
  if (mayForAll(action)) return true
  if (!groups) return false
  return groups.every((id) =>
    known
      .find(({ resourceIdentifier }) => idOf(resourceIdentifier) === id)
      ?.devices.every((deviceIdentifier) => mayI('updates', action, { deviceIdentifier })),
  )
}
