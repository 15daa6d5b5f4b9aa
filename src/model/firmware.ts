import { z } from 'zod'
import { DeviceIdentifier, FirmwareVersion, ShortName, Timestamp } from '#model/identifier'
import { firmwareIndexMax } from '#model/link-message'

/** The firmware of a device and the progress of its updates. §2.7, §3.2, contract 6. */

/** Distinguishes several firmwares of one device. */
export const FirmwareIndex = z.int().min(0).max(firmwareIndexMax)

/** The answers to a request for an update. §3.2. */
export const triggerStatuses = [
  'UPDATE_SERVER_OUT_OF_RESOURCES',
  'STARTED',
  'DEVICE_OFFLINE',
  'SERVER_ERROR',
  'UPDATE_SERVER_ERROR',
  'DEVICE_NOT_OK',
  'NO_UPDATE',
] as const
export type TriggerStatus = (typeof triggerStatuses)[number]

export const TriggerOutcome = z.object({ status: z.enum(triggerStatuses), message: z.string().optional() })
export interface TriggerOutcome {
  readonly status: TriggerStatus
  readonly message?: string
}

/**
 * In the order in which an update goes through them. An update ends in one of the last three states, or in `idle`.
 * Contract 6.
 */
export const updateStates = [
  'idle',
  'checking',
  'offering',
  'started',
  'downloading',
  'verifying',
  'installing',
  'rebooting',
  'done',
  'failed',
  'refused',
] as const
export type UpdateState = (typeof updateStates)[number]

/** The states in upper case, as events and answers contain them. */
export const UpdateStatus = z.enum(updateStates.map((state) => state.toUpperCase() as Uppercase<UpdateState>))
export type UpdateStatus = z.infer<typeof UpdateStatus>

/**
 * Messages of devices and of the update server are cut to this length: they are stored, and sent to all subscribers.
 */
export const updateMessageCharactersMax = 256

/**
 * What starts an update: the connection of a device, the schedule (`cron`), a call by the update server or a scan for
 * a rollout (both `hook`), or the request of a user (`post`).
 */
export type Trigger = 'connect' | 'cron' | 'hook' | 'post'

/** The progress of the update of a firmware, as its events describe it. `progress` in percent, `at` in Unix ms. */
export const UpdateEntry = z.object({
  status: UpdateStatus,
  firmware: FirmwareVersion.optional(),
  progress: z.number().min(0).max(100).optional(),
  message: z.string().optional(),
  at: Timestamp,
})
export type UpdateEntry = Readonly<z.infer<typeof UpdateEntry>>

/** One firmware of a device as the API returns it. `update` is present from depth 2 on, if there ever was an update. */
export const FirmwareEntry = z.object({
  firmware: FirmwareVersion,
  hardware: ShortName.optional(),
  index: FirmwareIndex,
  updateAvailable: z.boolean(),
  update: UpdateEntry.optional(),
})
export type FirmwareEntry = Readonly<z.infer<typeof FirmwareEntry>>

/**
 * The firmware of a device as the API returns it. `project` is null if the device did not send one. `firmwares` is
 * absent at depth 0.
 */
export const FirmwareInformation = z.object({
  deviceIdentifier: DeviceIdentifier,
  project: ShortName.nullable(),
  firmwares: z.array(FirmwareEntry).optional(),
})
export type FirmwareInformation = Readonly<z.infer<typeof FirmwareInformation>>
