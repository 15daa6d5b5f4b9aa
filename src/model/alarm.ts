import { z } from 'zod'
import { type Authored, authorshipFields } from '#model/authorship'
import { AlarmCondition, type Condition } from '#model/condition'
import { formatCrn, ResourceIdentifier } from '#model/crn'
import { BoundDevices, BoundGroups, BoundName, type DeviceBinding } from '#model/group'
import { ServiceIdentifier, ServiceReference, Timestamp } from '#model/identifier'

/** Alarms: conditions on properties of devices. §1.3, contract 5.3. */

/** Maximum number of alarms of a tenant. */
export const alarmsMax = 10_000

/**
 * Maximum number of nodes in the conditions of a tenant's alarms: all alarms may apply to one device, and listing the
 * names in their conditions must take at most 20 ms.
 */
export const alarmNodesMax = 100_000

/**
 * Maximum number of devices that a tenant's alarms and functions name, including the devices of their groups. Each
 * named device takes a few words of memory.
 */
export const alarmBindingsMax = 1_000_000

/** Maximum of `forSeconds`: a week. */
export const forSecondsMax = 604_800

export const severities = ['info', 'warning', 'critical'] as const
export const Severity = z.enum(severities)
export type Severity = z.infer<typeof Severity>

/**
 * An alarm in a request. `condition` reads properties of `serviceIdentifier`, by the names of its schema or as
 * `0x2000`. `forSeconds` is how long the condition has to hold, in server time. The alarm applies to the devices in
 * `devices` and `groups` together; if both are absent, to all devices, and if they are empty, to none.
 */
export const AlarmBody = z.strictObject({
  name: BoundName,
  severity: Severity,
  serviceIdentifier: ServiceReference,
  condition: AlarmCondition,
  forSeconds: z.int().min(0).max(forSecondsMax).optional(),
  devices: BoundDevices.optional(),
  groups: BoundGroups.optional(),
})
export type AlarmBody = Readonly<z.infer<typeof AlarmBody>>

/**
 * A stored alarm. `updatedBy` is its author, whose permissions count when it is evaluated. `edit` is a random number
 * that differs after every change.
 */
export interface StoredAlarm extends Authored, DeviceBinding {
  readonly name: string
  readonly severity: Severity
  readonly serviceIdentifier: string
  readonly condition: Condition
  readonly forSeconds: number
  readonly edit: number
  /** The time of the last change of the condition or service, Unix ms; absent before the first change. */
  readonly conditionAt?: number
}

const commentCharactersMax = 500

/** A remark of the user or program that acknowledges an alarm. */
export const AcknowledgeBody = z.strictObject({ comment: z.string().trim().max(commentCharactersMax).optional() })

/**
 * A user or an API key acknowledged an alarm on a device. `by`: the resource name of the user or API key; `at`: Unix
 * ms. Contract 12.
 */
export const Acknowledgement = z.object({ by: z.string(), at: Timestamp, comment: z.string().nullable() })
export type Acknowledgement = Readonly<z.infer<typeof Acknowledgement>>

/** An alarm as the API returns it. */
export const AlarmEntry = z.object({
  ...AlarmBody.shape,
  serviceIdentifier: ServiceIdentifier,
  forSeconds: z.int().min(0).max(forSecondsMax),
  resourceIdentifier: ResourceIdentifier,
  ...authorshipFields,
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
