/** Bindings: the devices that alarms and functions apply to. Contract 5.1, 5.3. */

/** Devices by name and devices of groups, together; if both are null, all present and future devices. */
export interface DeviceBinding {
  readonly devices: readonly string[] | null
  readonly groups: readonly string[] | null
}

/** Names, possibly with duplicates, or all devices. */
export type BindingDevices = readonly string[] | '*'

/** `BindingDevices` as separate lists. */
export type BindingLists = readonly (readonly string[])[] | '*'

/** The present members of a group; undefined if it was deleted. */
export type MembersOf = (group: string) => readonly string[] | undefined

/**
 * The lists of a binding, without merging them: a hundred groups may have a million members. A deleted group may have
 * had any members, so the result is then `*`: only a caller who may access all devices can be sure to access them.
 */
export function bindingLists({ devices, groups }: DeviceBinding, membersOf: MembersOf): BindingLists {
  if (groups === null) return devices ? [devices] : '*'
  const lists = [devices ?? []]
  for (const group of groups) {
    const members = membersOf(group)
    if (!members) return '*'
    lists.push(members)
  }
  return lists
}

/** Whether the binding includes this device. A deleted group includes no device. */
export function isBoundTo({ devices, groups }: DeviceBinding, device: string, membersOf: MembersOf): boolean {
  if (devices === null && groups === null) return true
  if (isMember(devices ?? [], device)) return true
  return groups?.some((group) => isMember(membersOf(group) ?? [], device)) ?? false
}

/** Whether a list includes a name. Lists of names are sorted by UTF-16 units. */
export function isMember(members: readonly string[], device: string): boolean {
  let [low, high] = [0, members.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((members[middle] as string) < device) low = middle + 1
    else high = middle
  }
  return members[low] === device
}
