import type { Firmware } from '#model/entry'
import type { Trigger, TriggerOutcome, UpdateState } from '#model/firmware'
import type { FirmwareStatusMessage } from '#model/link-message'
import type { OfferedFirmware } from '#model/update-offer'
import type { ReminderDue } from '#runtime/system'

/** Commands of the update actor of a device. */
export type UpdateCommand =
  | BeginUpdate
  | UpdateFound
  | NoUpdateFound
  | FirmwareReported
  | OfferLost
  | DeviceReconnected
  | ResumeUpdate
  | ForgetUpdates
  | ReminderDue

/** Answered with `BeginAnswer`. */
export interface BeginUpdate {
  readonly type: 'begin'
  readonly by: Trigger
  readonly project: string
  readonly firmwares: readonly Firmware[]
  /** The current session of the device. */
  readonly session: string
  /** The update's id; a repetition under the same `Idempotency-Key` has the same id. */
  readonly id: string
  /** The firmware to install. Null: the update server has to be asked first. */
  readonly found: FoundUpdate | null
}

/**
 * A firmware to install, because it is newer or the device is pinned to it. A device may have several firmwares, which
 * are numbered by `index`.
 */
export interface FoundUpdate {
  readonly index: number
  /** The version that the device has now. */
  readonly from: string
  readonly offer: OfferedFirmware
  /** Indexes that were not checked yet. */
  readonly rest: readonly number[]
}

export type BeginAnswer =
  | { readonly outcome: 'begun'; readonly id: string }
  /** An update is running; no new one was begun. */
  | { readonly outcome: 'joined'; readonly state: UpdateState }
  /** An update with this id has ended already; this was its outcome. */
  | { readonly outcome: 'over'; readonly result: TriggerOutcome }
  /** This firmware was tried too recently or too often, so it does not begin automatically now. */
  | { readonly outcome: 'held_back' }

/** The answer of the update server. `id`: the id of the update for which the server was asked. */
export interface UpdateFound extends FoundUpdate {
  readonly type: 'found'
  readonly id: string
}

export interface NoUpdateFound {
  readonly type: 'not_found'
  readonly id: string
  /**
   * `none`: there is nothing newer; `busy`, `failed`: the update server was busy or failed; `fault`: this server has an
   * error.
   */
  readonly why: 'none' | 'busy' | 'failed' | 'fault'
  readonly message?: string
}

/** Contract 7, FIRMWARE_STATUS; validated by the link. */
export interface FirmwareReported {
  readonly type: 'reported'
  readonly id: string
  readonly status: FirmwareStatusMessage['status']
  readonly progress?: number
  readonly message?: string
}

/** The link that received the offer is closed. */
export interface OfferLost {
  readonly type: 'lost'
  readonly id: string
}

/** The device sent HELLO with these firmwares. The version of a firmware that is not in the list is unknown. */
export interface DeviceReconnected {
  readonly type: 'reconnected'
  readonly session: string
  readonly firmwares: readonly Firmware[]
  /** The device refuses automatic updates, and no `POST` that triggers an update waits for this device. */
  readonly isRefusing?: boolean
}

/** Sent after a restart of the server, with the firmwares that the device last reported. */
export interface ResumeUpdate {
  readonly type: 'resume'
  readonly firmwares: readonly Firmware[]
}

/** The device was removed. */
interface ForgetUpdates {
  readonly type: 'forget'
}
