import type { Firmware } from '#model/entry'
import type { Trigger, TriggerOutcome, UpdateState } from '#model/firmware'
import type { FirmwareStatusMessage } from '#model/link-message'
import type { OfferedFirmware } from '#model/update-offer'
import type { ReminderDue } from '#runtime/system'

/** What the actor of a device's updates can be asked or told. */
export type UpdateCommand =
  | BeginUpdate
  | UpdateFound
  | NoUpdateFound
  | FirmwareSaid
  | OfferLost
  | DeviceBack
  | ResumeUpdate
  | ForgetUpdates
  | ReminderDue

/** Answered with `BeginAnswer`. */
export interface BeginUpdate {
  readonly type: 'begin'
  readonly by: Trigger
  readonly project: string
  readonly firmwares: readonly Firmware[]
  /** The device's of now. */
  readonly session: string
  /** The update's id: the same again when it is asked for again under one `Idempotency-Key`. */
  readonly seed: string
  /** Null: the update server is to be asked first. */
  readonly found: FoundUpdate | null
}

/** For one of the firmwares there is another. */
export interface FoundUpdate {
  readonly index: number
  readonly from: string
  readonly offer: OfferedFirmware
  /** Indexes that were not looked at yet. */
  readonly rest: readonly number[]
}

export type BeginAnswer =
  | { readonly outcome: 'begun'; readonly id: string }
  /** One is under way: nothing was begun. */
  | { readonly outcome: 'joined'; readonly state: UpdateState }
  /** It was begun under this very id, and has ended: what was said of it then. */
  | { readonly outcome: 'over'; readonly said: TriggerOutcome }
  /** By itself this firmware is not tried now, or not any more. */
  | { readonly outcome: 'held_back' }

/** What the update server said; `id` of the update that asked. */
export interface UpdateFound extends FoundUpdate {
  readonly type: 'found'
  readonly id: string
}

export interface NoUpdateFound {
  readonly type: 'not_found'
  readonly id: string
  /** `none`: there is nothing newer; `busy` and `failed`: the update server; `fault`: we. */
  readonly why: 'none' | 'busy' | 'failed' | 'fault'
  readonly message?: string
}

/** Contract 7, FIRMWARE_STATUS; checked by the link. */
export interface FirmwareSaid {
  readonly type: 'said'
  readonly id: string
  readonly status: FirmwareStatusMessage['status']
  readonly progress?: number
  readonly message?: string
}

/** The link that heard the offer is gone. */
export interface OfferLost {
  readonly type: 'lost'
  readonly id: string
}

/** The device said HELLO, with these firmwares: of those it leaves out nothing is concluded. */
export interface DeviceBack {
  readonly type: 'back'
  readonly session: string
  readonly firmwares: readonly Firmware[]
  /** It takes firmware by hand alone, and nobody waits who asked for this one. */
  readonly isRefusing?: boolean
}

/** A new process goes on with it; what the device last said that it has. */
export interface ResumeUpdate {
  readonly type: 'resume'
  readonly firmwares: readonly Firmware[]
}

/** The device is gone. */
interface ForgetUpdates {
  readonly type: 'forget'
}
