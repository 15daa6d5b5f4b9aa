import { z } from 'zod'
import { formatCrn, idOfCrn, ResourceIdentifier } from '#model/crn'
import { faultBoundedArray } from '#model/fault-bounded-array'
import { DeviceIdentifier, isServerMadeId, Timestamp } from '#model/identifier'
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

/** A group by its id or its resource name; the result is the id. Contract 1.7. */
export const GroupReference = z
  .string()
  .refine((text) => groupIdOf(text) !== undefined, 'must be the id of a group or its resource name')
  .overwrite((text) => groupIdOf(text) ?? text)

/** Ids of groups, sorted, without duplicates. */
export const BoundGroups = z.array(GroupReference).max(boundGroupsMax).overwrite(sortedOnce)

export const GroupBody = z.strictObject({ name: BoundName, devices: BoundDevices })
export type GroupBody = Readonly<z.infer<typeof GroupBody>>

export const GroupPatch = GroupBody.partial()
export type GroupPatch = Readonly<z.infer<typeof GroupPatch>>

/**
 * A stored group. Users are given by resource name; times are Unix ms; `edit` is a random number that differs after
 * every change.
 */
export interface StoredGroup {
  readonly name: string
  readonly devices: readonly string[]
  readonly createdBy: string
  readonly createdAt: number
  readonly updatedBy: string
  readonly updatedAt: number
  readonly edit: number
}

/** A group as the API returns it. */
export const GroupEntry = z.object({
  name: BoundName,
  devices: z.array(DeviceIdentifier),
  resourceIdentifier: ResourceIdentifier,
  createdBy: z.string(),
  createdAt: Timestamp,
  updatedBy: z.string(),
  updatedAt: Timestamp,
})
export type GroupEntry = z.infer<typeof GroupEntry>

export function groupEntryOf(id: string, stored: StoredGroup): GroupEntry {
  const { name, devices, createdBy, createdAt, updatedBy, updatedAt } = stored
  return {
    name,
    devices: [...devices],
    resourceIdentifier: formatCrn({ type: 'group', id }),
    createdBy,
    createdAt,
    updatedBy,
    updatedAt,
  }
}

function groupIdOf(text: string): string | undefined {
  return isServerMadeId(text) ? text : idOfCrn(text, 'group')
}

/** Sorts by UTF-16 units, independent of the language of the machine. */
function sortedOnce(names: readonly string[]): string[] {
  return [...new Set(names)].sort()
}
