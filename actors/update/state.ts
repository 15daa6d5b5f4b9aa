import type { Stage } from '#actors/project/state'
import type { Firmware, UpdateChanged } from '#model/entry'
import type { Trigger, TriggerOutcome, UpdateState } from '#model/firmware'
import type { FirmwareStatusMessage } from '#model/link-message'
import type { ReleaseKey } from '#model/release'
import type { OfferedFirmware } from '#model/update-offer'
import type { ActorAddress, CommandOf, NoFields } from '#runtime/actor'
import type { Reminded } from '#runtime/system'

/** The updates of one device. A device without updates has an actor too. */
export interface UpdateActorState {
  readonly device: string
  stored: StoredUpdate | undefined
}

export const updateRecord = 'update'

/** The stored update of one device: the state of the machine, and what is remembered of earlier updates. */
export interface StoredUpdate {
  /** Version of the state machine. */
  readonly machine: number
  readonly state: UpdateState
  readonly context: UpdateContext
  /** One for each pair of index and firmware; the one begun last is at the end. */
  readonly attempts: readonly UpdateAttempts[]
  readonly counted: CountedUpdate | null
  /** The last published states of all indexes except the one in `context`. */
  readonly earlier?: readonly PublishedUpdate[]
}

/** The published state of one firmware index. */
export type PublishedUpdate = Omit<UpdateChanged, 'kind' | 'device'>

/** The context of the state machine. Times are Unix ms, 0 for never. */
export interface UpdateContext {
  /** At most 36 characters: it is part of the FIRMWARE message, and of each status of the device. */
  readonly id: string
  /** For a retry: the trigger of the first attempt. */
  readonly by: Trigger
  readonly project: string
  readonly index: number
  /** The firmware version at the beginning. */
  readonly from: string
  /** The firmware to install. Null: the update server has not answered yet, or has no newer firmware. */
  readonly offer: OfferedFirmware | null
  /** Indexes to check when the update is done. */
  readonly rest: readonly number[]
  /** The device's session at the last offer; another session means that the device restarted. */
  readonly session: string
  /** In percent. */
  readonly progress: number | null
  readonly message: string | null
  /** Why the update failed or was refused; null: neither. */
  readonly reason: FailureReason | null
  /** The answer to the caller that triggered the update. §3.2. Null: none yet. */
  readonly outcome: TriggerOutcome | null
  /** When the update times out unless there is an event; null: no limit. */
  readonly deadline: number | null
  /** When the download fails even if the device reports progress; 0 before the download. */
  readonly downloadsUntil: number
  /** When the installation fails even if the device reports progress; 0 before the installation. */
  readonly installsUntil: number
  readonly beganAt: number
  /** The time and progress of the last published event. */
  readonly toldAt: number
  readonly toldProgress: number
  /** The number of repeated offers. Set to 0 when the device accepts the offer. */
  readonly resends: number
}

/** `server`: the update server, or this server. */
export type FailureReason = 'offline' | 'timeout' | 'device' | 'server'

/** The stage last sent to the project, which counts it. */
export interface CountedUpdate {
  readonly project: string
  readonly release: ReleaseKey
  /** Id of the rollout that began the update. */
  readonly rollout: string | null
  readonly stage: Stage
}

/** Automatic attempts of one firmware. */
export interface UpdateAttempts {
  readonly firmware: string
  readonly index: number
  /** Id of the rollout that chose the firmware; null: no rollout did. */
  readonly rollout: string | null
  /** The trigger of the last attempt. */
  readonly by: Trigger
  /** Including the running attempt. */
  readonly count: number
  /** When the firmware may be tried again, Unix ms; null: there will be no automatic attempt, or one is running. */
  readonly nextAt: number | null
  /** Since when the device has had the firmware, Unix ms; null: it does not have it, or fell back. */
  readonly doneAt: number | null
}

/** The update of a device: at most one at a time. */
export function updateAddress(tenant: string, device: string): ActorAddress<UpdateActorState, UpdateCommand> {
  return { kind: 'update', tenant, id: device }
}

/** The index of devices with a running update, by device identifier. */
export const updatingIndex = 'updating'

/** The published state of the firmware of the current update. */
export function publishedStateOf({ state, context }: StoredUpdate): PublishedUpdate {
  const { index, offer, progress, message, toldAt } = context
  return {
    index,
    at: toldAt,
    status: state,
    ...(offer && { firmware: offer.firmware }),
    ...(progress !== null && { progress }),
    ...(message !== null && { message }),
  }
}

/** The last published state of one firmware of the device; undefined: never published. */
export function publishedStateAt(stored: StoredUpdate, index: number): PublishedUpdate | undefined {
  return stored.context.index === index
    ? publishedStateOf(stored)
    : stored.earlier?.find((published) => published.index === index)
}

/**
 * The state to publish for the firmware that was checked before the current one. The update server has no newer version
 * of that firmware, so `idle` replaces the published state `checking`. Undefined if no other firmware was checked.
 */
export function finishedCheck(
  before: StoredUpdate | undefined,
  index: number,
  now: number,
): PublishedUpdate | undefined {
  if (before?.state !== 'checking' || before.context.index === index) return undefined
  return { index: before.context.index, at: now, status: 'idle', message: 'NO_UPDATE' }
}

/**
 * The new value of `StoredUpdate.earlier`: the last published states of all firmwares except the firmware of the
 * current update. `finished`: the result of `finishedCheck`.
 */
export function earlierAfter(
  before: StoredUpdate | undefined,
  index: number,
  finished: PublishedUpdate | undefined,
): readonly PublishedUpdate[] | undefined {
  if (!before || before.context.index === index) return before?.earlier
  const last = finished ?? publishedStateOf(before)
  const others =
    before.earlier?.filter((published) => published.index !== index && published.index !== last.index) ?? []
  return [...others, last]
}

/** Commands of the update actor of a device. */
export interface UpdateCommands extends Reminded {
  /** Answered with `BeginAnswer`. */
  begin: {
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
  /** The answer of the update server. `id`: the id of the update for which the server was asked. */
  found: FoundUpdate & { readonly id: string }
  not_found: {
    readonly id: string
    /**
     * `none`: there is nothing newer; `busy`, `failed`: the update server was busy or failed; `fault`: this server has an
     * error.
     */
    readonly why: 'none' | 'busy' | 'failed' | 'fault'
    readonly message?: string
  }
  /** Contract 7, FIRMWARE_STATUS; validated by the link. */
  reported: {
    readonly id: string
    readonly status: FirmwareStatusMessage['status']
    readonly progress?: number
    readonly message?: string
  }
  /** The link that received the offer is closed. */
  lost: { readonly id: string }
  /** The device sent HELLO with these firmwares. The version of a firmware that is not in the list is unknown. */
  reconnected: {
    readonly session: string
    readonly firmwares: readonly Firmware[]
    /** The device refuses automatic updates, and no `POST` that triggers an update waits for this device. */
    readonly isRefusing?: boolean
  }
  /** Sent after a restart of the server, with the firmwares that the device last reported. */
  resume: { readonly firmwares: readonly Firmware[] }
  /** The device was removed. */
  forget: NoFields
}

export type UpdateCommand = CommandOf<UpdateCommands>

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
