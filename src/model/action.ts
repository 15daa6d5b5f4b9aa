import { z } from 'zod'
import { BoundDevices, BoundGroups } from '#model/group'
import { DeviceIdentifier, ServerMadeId, ServiceIdentifier, Timestamp } from '#model/identifier'
import { jsonWithin } from '#model/json-value'
import { PropertyWrites } from '#model/property-write'

/** One write for many devices: what is asked, what became of it on each. Contract 3.6. */

/** Of one action, those of groups counted: a fleet. */
export const actionDevicesMax = 100_000

/** Going on at once in a tenant. */
export const actionsRunningMax = 100

/** The same of one user, so that three users are needed to shut out a tenant. */
export const actionsOfAuthorMax = 40

/** Properties of one action. */
export const actionKeysMax = 64

/** As much as one write may have. */
const updatesBytesMax = 256 * 1024

/** For so long after it was made it can be read. */
export const actionKeptMs = 24 * 60 * 60 * 1000

/** `{"<key>": value}` as of a write. The deepest value is an array. */
const ActionUpdates = jsonWithin(
  PropertyWrites.refine(
    (updates) => Object.keys(updates).length <= actionKeysMax,
    `must name at most ${actionKeysMax} properties`,
  ),
  { depthMax: 2, bytesMax: updatesBytesMax },
)

/** Which devices, by name and by group, and what they are asked. To name none by either is no way to mean all of them. */
export const ActionBody = z
  .strictObject({
    devices: BoundDevices.optional(),
    groups: BoundGroups.optional(),
    serviceIdentifier: ServiceIdentifier,
    updates: ActionUpdates,
  })
  .refine(({ devices, groups }) => devices !== undefined || groups !== undefined, {
    path: ['devices'],
    message: 'must be there, or groups',
  })
export type ActionBody = Readonly<z.infer<typeof ActionBody>>

/**
 * What became of it on one device. `NOT_FOUND`: there is no such device, or it does not offer the service, or who asked may
 * not change it: which of these, nobody is told. `INVALID`: it does not take what was asked.
 */
export const outcomeStatuses = ['OK', 'REJECTED', 'DEVICE_OFFLINE', 'DEVICE_TIMEOUT', 'NOT_FOUND', 'INVALID'] as const
export type OutcomeStatus = (typeof outcomeStatuses)[number]

const DeviceOutcome = z.object({
  status: z.enum(outcomeStatuses),
  /** With `REJECTED`: property by property. */
  updates: z
    .array(z.object({ propId: z.number(), status: z.enum(['OK', 'REJECTED']), message: z.string().optional() }))
    .optional(),
  /** With `INVALID`. */
  details: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
})
export type DeviceOutcome = Readonly<z.infer<typeof DeviceOutcome>>

/** How many of its devices stand where. */
const ActionCounts = z.object({
  total: z.number(),
  PENDING: z.number(),
  ...Object.fromEntries(outcomeStatuses.map((status) => [status, z.number()])),
})
export type ActionCounts = Record<'total' | 'PENDING' | OutcomeStatus, number>

/** An action, as shown: of its devices those that the asker may read, by name. */
export const ActionEntry = z.object({
  id: ServerMadeId,
  state: z.enum(['running', 'done']),
  createdAt: Timestamp,
  createdBy: z.string(),
  serviceIdentifier: ServiceIdentifier,
  updates: z.record(z.string(), z.unknown()),
  counts: ActionCounts,
  devices: z.array(
    DeviceOutcome.extend({ deviceIdentifier: DeviceIdentifier, status: z.enum(['PENDING', ...outcomeStatuses]) }),
  ),
})

/** An action at rest. Who made it is named by his resource name; Unix ms. */
export interface StoredAction {
  readonly serviceIdentifier: string
  readonly updates: PropertyWrites
  readonly createdBy: string
  readonly createdAt: number
  /** How many devices it is for. */
  readonly total: number
  readonly isDone: boolean
}

/** One to be begun. */
export interface NewAction {
  readonly tenant: string
  readonly id: string
  /** Resource name. By what he may do at each device's moment it is done there, or not. */
  readonly author: string
  readonly serviceIdentifier: string
  readonly updates: PropertyWrites
  /** Names of devices, each list sorted and each name in it once. */
  readonly devices: readonly (readonly string[])[]
}

export function noCounts(): ActionCounts {
  const counts = { total: 0, PENDING: 0 } as ActionCounts
  for (const status of outcomeStatuses) counts[status] = 0
  return counts
}
