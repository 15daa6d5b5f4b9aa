/** What groups and alarms are bound to: which devices they mean. Contract 5.1, 5.3. */

/** Devices by name and those of groups, together; where both are absent, all there are and will be. */
export interface Bound {
  readonly devices: readonly string[] | null
  readonly groups: readonly string[] | null
}

/** Names, which may come twice, or all of them. */
export type MeantDevices = readonly string[] | '*'

/** The same, list by list. */
export type MeantLists = readonly (readonly string[])[] | '*'

/** Who is in a group now; undefined for one that is gone. */
export type MembersOf = (group: string) => readonly string[] | undefined

/**
 * What it comes to, list by list as they stand: a hundred groups may have a million members. A group that is gone may have
 * had anybody: only who reaches any device is then known to reach them.
 */
export function meantLists({ devices, groups }: Bound, membersOf: MembersOf): MeantLists {
  if (groups === null) return devices ? [devices] : '*'
  const lists = [devices ?? []]
  for (const group of groups) {
    const members = membersOf(group)
    if (!members) return '*'
    lists.push(members)
  }
  return lists
}

/** Whether that means this device. Of a group that is gone nobody is known. */
export function isBoundTo({ devices, groups }: Bound, device: string, membersOf: MembersOf): boolean {
  if (devices === null && groups === null) return true
  if (isAmong(devices ?? [], device)) return true
  return groups?.some((group) => isAmong(membersOf(group) ?? [], device)) ?? false
}

/** Names of lists are sorted by UTF-16 units. */
export function isAmong(members: readonly string[], device: string): boolean {
  let [low, high] = [0, members.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((members[middle] as string) < device) low = middle + 1
    else high = middle
  }
  return members[low] === device
}
