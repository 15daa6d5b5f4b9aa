import { z } from 'zod'
import { type Authored, authorshipFields, authorshipOf } from '#model/authorship'
import { formatCrn, ResourceIdentifier, referenceTo } from '#model/crn'
import { DeviceIdentifier } from '#model/identifier'
import { faultBoundedArray } from '#model/json-value'
import { printable } from '#model/text'

/** Groups: named sets of devices, for alarms, functions, actions, roles and rollouts. Contract 5.1. */

/** Maximum number of groups of a tenant: one for each region, customer or model. */
export const groupsMax = 1_000

/**
 * Maximum number of devices of one group, and of any list of devices in a binding. Users who need more devices can use
 * several groups, or bind all devices.
 */
export const boundDevicesMax = 10_000

/** Maximum number of groups in one binding. */
export const boundGroupsMax = 100

/** The limit for names that are shown on a screen. They need not be unique. */
export const boundNameCharactersMax = 128

export const BoundName = printable(boundNameCharactersMax)

/** Identifiers in their normal form, sorted, without duplicates. The devices need not exist yet. */
export const BoundDevices = faultBoundedArray(DeviceIdentifier).max(boundDevicesMax).overwrite(sortedOnce)

export const GroupReference = referenceTo('group', 'must be the id of a group or its resource name')

/** Ids of groups, sorted, without duplicates. */
export const BoundGroups = z.array(GroupReference).max(boundGroupsMax).overwrite(sortedOnce)

export const GroupBody = z.strictObject({ name: BoundName, devices: BoundDevices })

export const GroupPatch = GroupBody.partial()

/** A stored group. `edit` is a random number that differs after every change. */
export interface StoredGroup extends Authored {
  readonly name: string
  readonly devices: readonly string[]
  readonly edit: number
}

/** A group as the API returns it. */
export const GroupEntry = z.object({
  name: BoundName,
  devices: z.array(DeviceIdentifier),
  resourceIdentifier: ResourceIdentifier,
  ...authorshipFields,
})
export type GroupEntry = z.infer<typeof GroupEntry>

export function groupEntryOf(id: string, stored: StoredGroup): GroupEntry {
  const { name, devices } = stored
  return { name, devices: [...devices], resourceIdentifier: formatCrn({ type: 'group', id }), ...authorshipOf(stored) }
}

/** Sorts by UTF-16 units, independent of the language of the machine. */
function sortedOnce(names: readonly string[]): string[] {
  return [...new Set(names)].sort()
}

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
