/** What groups and alarms are bound to: which devices they mean. Contract 5.1, 5.3. */

/** Devices by name and those of groups, together; where both are absent, all there are and will be. */
export interface Bound {
  readonly devices: readonly string[] | null
  readonly groups: readonly string[] | null
}

/** Names, which may come twice, or all of them. */
export type MeantDevices = readonly string[] | '*'

/** Who is in a group now; undefined for one that is gone. */
export type MembersOf = (group: string) => readonly string[] | undefined

/** What it comes to. A group that is gone may have had anybody: only who reaches any device is then known to reach them. */
export function meantDevices({ devices, groups }: Bound, membersOf: MembersOf): MeantDevices {
  if (groups === null) return devices ?? '*'
  const all = devices === null ? [] : [...devices]
  for (const group of groups) {
    const members = membersOf(group)
    if (!members) return '*'
    for (const member of members) all.push(member)
  }
  return all
}
