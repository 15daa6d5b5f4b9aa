import type { FoundUpdate } from '#actors/update/commands'
import type { UpdateContext } from '#actors/update/state'

/** Events of the update state machine. The machine reads no clock: each event contains the time. */

/** Device events are named like the reported status. Contract 7, FIRMWARE_STATUS. */
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
  /** When an offer that is sent now expires, Unix ms. */
  readonly offerUntil: number
  /** Present in BEGIN. */
  readonly begun?: UpdateContext
  /** Present in FOUND. */
  readonly found?: FoundUpdate
  /** In percent, as reported by the device. */
  readonly progress?: number | undefined
  /** Text of the device, of the update server or of this server, cut to its maximum length. */
  readonly message?: string | undefined
  /** Present in BACK: the device's session, and its reported version, if it reports one. */
  readonly session?: string
  readonly reported?: string | undefined
}

export type UpdateEvent = {
  [Type in UpdateEventType]: UpdateEventFields & { readonly type: Type }
}[UpdateEventType]
