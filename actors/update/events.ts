import type { FoundUpdate } from '#actors/update/commands'
import type { UpdateContext } from '#actors/update/state'

/** What the machine of an update hears. It reads no clock: each event says the moment. */

/** Those of a device are named as it says them. Contract 7, FIRMWARE_STATUS. */
export const updateEventTypes = [
  'BEGIN',
  'FOUND',
  'NONE',
  'SERVER_BUSY',
  'SERVER_FAILED',
  'OUR_FAULT',
  'STARTED',
  'NOT_OK',
  'DOWNLOADING',
  'INSTALLING',
  'INSTALLED',
  'FAILED',
  'LOST',
  'BACK',
  'DUE',
] as const
export type UpdateEventType = (typeof updateEventTypes)[number]

interface UpdateEventFields {
  /** Unix ms. */
  readonly now: number
  /** When an offer that is sent now is over, Unix ms. */
  readonly offerUntil: number
  /** Of BEGIN. */
  readonly begun?: UpdateContext
  /** Of FOUND. */
  readonly found?: FoundUpdate
  /** In percent, of what the device says. */
  readonly progress?: number | undefined
  /** Words of the device or of the update server, cut. */
  readonly message?: string | undefined
  /** Of BACK: the device's session, and the version that it says it has; undefined when it says none. */
  readonly session?: string
  readonly reported?: string | undefined
}

export type UpdateEvent = {
  [Type in UpdateEventType]: UpdateEventFields & { readonly type: Type }
}[UpdateEventType]
