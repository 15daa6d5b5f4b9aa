import { z } from 'zod'
import { DeviceIdentifier, FirmwareVersion, ShortName, Timestamp } from '#model/identifier'
import { firmwareIndexMax } from '#model/link-message'

/** What is known of the firmware of a device, and what becomes of an update. §2.7, §3.2, contract 6. */

/** Tells apart several firmwares of one device. */
export const FirmwareIndex = z.int().min(0).max(firmwareIndexMax)

/** What asking for an update is answered. §3.2. */
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

/** In the order in which an update goes through them; the last three are ends. Contract 6. */
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

/** The same as events and answers say it. */
export const UpdateStatus = z.enum(updateStates.map((state) => state.toUpperCase() as Uppercase<UpdateState>))
export type UpdateStatus = z.infer<typeof UpdateStatus>

/** What a device says of a fault in many words is cut here: it is kept, and told to everybody. */
export const updateMessageCharactersMax = 256

/** What begins an update: a device that comes, the schedule, the update server, somebody who asks. */
export type Trigger = 'connect' | 'cron' | 'hook' | 'post'

/** Where the update of a firmware stands, which is what its events come to. `progress` in percent, `at` in Unix ms. */
export const UpdateEntry = z.object({
  status: UpdateStatus,
  firmware: FirmwareVersion.optional(),
  progress: z.number().min(0).max(100).optional(),
  message: z.string().optional(),
  at: Timestamp,
})
export type UpdateEntry = Readonly<z.infer<typeof UpdateEntry>>

/** One firmware of a device, as shown. `update` from depth 2 on, if there ever was one. */
export const FirmwareEntry = z.object({
  firmware: FirmwareVersion,
  hardware: ShortName.optional(),
  index: FirmwareIndex,
  updateAvailable: z.boolean(),
  update: UpdateEntry.optional(),
})
export type FirmwareEntry = Readonly<z.infer<typeof FirmwareEntry>>

/** What is known of a device's firmware, as shown. `project` is null where none was said; no `firmwares` at depth 0. */
export const FirmwareInformation = z.object({
  deviceIdentifier: DeviceIdentifier,
  project: ShortName.nullable(),
  firmwares: z.array(FirmwareEntry).optional(),
})
export type FirmwareInformation = Readonly<z.infer<typeof FirmwareInformation>>
