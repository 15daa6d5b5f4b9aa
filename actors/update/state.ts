import type { Stage } from '#actors/project/commands'
import type { UpdateCommand } from '#actors/update/commands'
import type { UpdateChanged } from '#model/entry'
import type { Trigger, TriggerOutcome, UpdateState } from '#model/firmware'
import type { ReleaseKey } from '#model/release'
import type { OfferedFirmware } from '#model/update-offer'
import type { ActorAddress } from '#runtime/actor'

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
