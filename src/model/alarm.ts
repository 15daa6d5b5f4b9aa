import { z } from 'zod'
import { AlarmCondition, type Condition } from '#model/condition'
import { formatCrn, ResourceIdentifier } from '#model/crn'
import { BoundDevices, BoundGroups, BoundName } from '#model/group'
import { ServiceIdentifier, Timestamp } from '#model/identifier'

/** Conditions over a device's properties that people want to hear of. §1.3, contract 5.3. */

/** Alarms of a tenant. */
export const alarmsMax = 10_000

/** Nodes of the conditions of a tenant's alarms: a device may be judged by all of them, and lists their names within 20 ms. */
export const alarmNodesMax = 100_000

/** Devices that a tenant's alarms and functions name, those of their groups counted: each is a few words in memory. */
export const alarmBindingsMax = 1_000_000

/** A week, in seconds: what has to hold for longer is a report, not an alarm. */
export const forSecondsMax = 604_800

export const severities = ['info', 'warning', 'critical'] as const
export const Severity = z.enum(severities)
export type Severity = z.infer<typeof Severity>

/**
 * An alarm as it is put. `condition` reads properties of `serviceIdentifier`, by the names of its schema or as `0x2000`.
 * `forSeconds` is how long it has to hold, in server time. `devices` and `groups` are united; with neither, it is about
 * all devices, with an empty one about none.
 */
export const AlarmBody = z.strictObject({
  name: BoundName,
  severity: Severity,
  serviceIdentifier: ServiceIdentifier,
  condition: AlarmCondition,
  forSeconds: z.int().min(0).max(forSecondsMax).optional(),
  devices: BoundDevices.optional(),
  groups: BoundGroups.optional(),
})
export type AlarmBody = Readonly<z.infer<typeof AlarmBody>>

/**
 * An alarm at rest. `updatedBy` is its author, whose access counts when it is judged; he and `createdBy` are resource
 * names. Times are Unix ms; `edit` grows with every change.
 */
export interface StoredAlarm {
  readonly name: string
  readonly severity: Severity
  readonly serviceIdentifier: string
  readonly condition: Condition
  readonly forSeconds: number
  /** Null: not said. With both null it is bound to all devices. */
  readonly devices: readonly string[] | null
  readonly groups: readonly string[] | null
  readonly createdBy: string
  readonly createdAt: number
  readonly updatedBy: string
  readonly updatedAt: number
  readonly edit: number
  /** When its condition or its service last became another, Unix ms; absent while they are those it was made with. */
  readonly conditionAt?: number
}

/** An alarm, as shown. */
export const AlarmEntry = z.object({
  ...AlarmBody.shape,
  forSeconds: z.int().min(0).max(forSecondsMax),
  resourceIdentifier: ResourceIdentifier,
  createdBy: z.string(),
  createdAt: Timestamp,
  updatedBy: z.string(),
  updatedAt: Timestamp,
})
export type AlarmEntry = z.infer<typeof AlarmEntry>

export function alarmEntryOf(id: string, stored: StoredAlarm): AlarmEntry {
  const { edit: _, conditionAt: __, devices, groups, ...shown } = stored
  return {
    ...shown,
    ...(devices && { devices: [...devices] }),
    ...(groups && { groups: [...groups] }),
    resourceIdentifier: formatCrn({ type: 'alarm', id }),
  }
}
