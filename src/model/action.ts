import { z } from 'zod'
import { BoundDevices, BoundGroups } from '#model/group'
import { DeviceIdentifier, ServerMadeId, ServiceIdentifier, ServiceReference, Timestamp } from '#model/identifier'
import { jsonWithin } from '#model/json-value'
import { PropertyWrites } from '#model/property-write'

/** An action writes the same values to many devices and records the outcome for each. Contract 3.6. */

/** Maximum number of devices of one action, including those of its groups: enough for a whole fleet. */
export const actionDevicesMax = 100_000

/** Maximum number of actions that run at the same time in a tenant. */
export const actionsRunningMax = 100

/** Maximum number of running actions of one user: two users together cannot reach `actionsRunningMax`. */
export const actionsOfAuthorMax = 40

/** Maximum number of properties of one action. */
export const actionKeysMax = 64

/** The same limit as for one write. */
const updatesBytesMax = 256 * 1024

/** An action can be read for this time after its creation. */
export const actionRetentionMs = 24 * 60 * 60 * 1000

/** `{"<key>": value}` as in a write. The deepest value is an array. */
const ActionUpdates = jsonWithin(
  PropertyWrites.refine(
    (updates) => Object.keys(updates).length <= actionKeysMax,
    `must name at most ${actionKeysMax} properties`,
  ),
  { depthMax: 2, bytesMax: updatesBytesMax },
)

/**
 * The devices, by name and by group, and the values to write. A body without `devices` and `groups` is refused: it does
 * not mean all devices.
 */
export const ActionBody = z
  .strictObject({
    devices: BoundDevices.optional(),
    groups: BoundGroups.optional(),
    serviceIdentifier: ServiceReference,
    updates: ActionUpdates,
    /** True: the updates are stored as desired values, even for devices that are not connected. Contract 12. */
    desired: z.boolean().optional(),
  })
  .refine(({ devices, groups }) => devices !== undefined || groups !== undefined, {
    path: ['devices'],
    message: 'must be given, or groups',
  })
export type ActionBody = Readonly<z.infer<typeof ActionBody>>

/**
 * The outcome on one device. `NOT_FOUND`: the device does not exist, or does not offer the service, or the user is not
 * allowed to change it; the answer does not say which. `INVALID`: the device does not accept the value.
 */
export const outcomeStatuses = ['OK', 'REJECTED', 'DEVICE_OFFLINE', 'DEVICE_TIMEOUT', 'NOT_FOUND', 'INVALID'] as const
export type OutcomeStatus = (typeof outcomeStatuses)[number]

const DeviceOutcome = z.object({
  status: z.enum(outcomeStatuses),
  /** With `REJECTED`: the result for each property. */
  updates: z
    .array(z.object({ propId: z.number(), status: z.enum(['OK', 'REJECTED']), message: z.string().optional() }))
    .optional(),
  /** With `INVALID`: why each value is not accepted. */
  details: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
})
export type DeviceOutcome = Readonly<z.infer<typeof DeviceOutcome>>

/** The number of devices in each status. */
const ActionCounts = z.object({
  total: z.number(),
  PENDING: z.number(),
  ...Object.fromEntries(outcomeStatuses.map((status) => [status, z.number()])),
  /**
   * With `desired`: the number of devices whose desired values are stored, whether or not the devices have received
   * them.
   */
  applied: z.number().optional(),
})
export type ActionCounts = Record<'total' | 'PENDING' | OutcomeStatus, number> & { applied?: number }

/** An action as the API returns it, with the devices that the caller may read, sorted by name. */
export const ActionEntry = z.object({
  id: ServerMadeId,
  state: z.enum(['running', 'done']),
  createdAt: Timestamp,
  createdBy: z.string(),
  serviceIdentifier: ServiceIdentifier,
  updates: z.record(z.string(), z.unknown()),
  desired: z.boolean().optional(),
  counts: ActionCounts,
  devices: z.array(
    DeviceOutcome.extend({ deviceIdentifier: DeviceIdentifier, status: z.enum(['PENDING', ...outcomeStatuses]) }),
  ),
})

/** A stored action. Its author is given by resource name; times are Unix ms. */
export interface StoredAction {
  readonly serviceIdentifier: string
  readonly updates: PropertyWrites
  /** Present if the updates are desired values. */
  readonly desired?: true
  readonly createdBy: string
  readonly createdAt: number
  /** The number of devices. */
  readonly total: number
  readonly isDone: boolean
}

export interface NewAction extends Pick<StoredAction, 'serviceIdentifier' | 'updates' | 'desired'> {
  readonly tenant: string
  readonly id: string
  /** Resource name. Permissions of this user are checked again for each device when the action reaches it. */
  readonly author: string
  /** Names of devices; each list is sorted and has no duplicates. */
  readonly devices: readonly (readonly string[])[]
}

export function zeroCounts(): ActionCounts {
  const counts = { total: 0, PENDING: 0 } as ActionCounts
  for (const status of outcomeStatuses) counts[status] = 0
  return counts
}
