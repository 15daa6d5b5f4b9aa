import type { Stage } from '#actors/project/commands'
import type { UpdateChanged } from '#model/entry'
import type { Trigger, TriggerOutcome, UpdateState } from '#model/firmware'
import type { ReleaseKey } from '#model/release'
import type { OfferedFirmware } from '#model/update-offer'

/** The updates of one device. Of one that never had any there is an actor too: it has nothing. */
export interface UpdateActorState {
  readonly device: string
  stored: StoredUpdate | undefined
}

/** Its one record. */
export const updateRecord = 'update'

/** The update of one device at rest: where it stands, and what it remembers of the one before. */
export interface StoredUpdate {
  /** Version of the machine by which it stands there. */
  readonly machine: number
  readonly state: UpdateState
  readonly context: UpdateContext
  /** By index and firmware, in the order in which they were last begun. */
  readonly attempts: readonly UpdateAttempts[]
  readonly counted: CountedUpdate | null
  /** What was last told of the device's other firmwares; of one that is not in it, nothing. */
  readonly earlier?: readonly ToldUpdate[]
}

/** What events of one firmware come to. */
export type ToldUpdate = Omit<UpdateChanged, 'kind' | 'device'>

/** What the machine knows beside its state. Times are Unix ms, 0 for never. */
export interface UpdateContext {
  /** At most 36 characters: the device is told it with the FIRMWARE, and says it in each status. */
  readonly id: string
  /** Of a retry: what began the first attempt. */
  readonly by: Trigger
  readonly project: string
  readonly index: number
  /** The firmware at its beginning. */
  readonly from: string
  /** Null: the update server has not answered yet. */
  readonly offer: OfferedFirmware | null
  /** Indexes still to be looked at when this one is done. */
  readonly rest: readonly number[]
  /** The device's, when it was last offered: another one means that it started anew. */
  readonly session: string
  /** In percent. */
  readonly progress: number | null
  readonly message: string | null
  /** Why it failed. */
  readonly reason: FailureReason | null
  /** What whoever asked for it was answered. §3.2. Null: nothing yet. */
  readonly outcome: TriggerOutcome | null
  /** When it fails unless something comes; null: it may stay as it is. */
  readonly deadline: number | null
  /** When downloading fails whatever the device says on the way; 0 before it. */
  readonly downloadsUntil: number
  /** The same of installing. */
  readonly installsUntil: number
  readonly beganAt: number
  /** The last event, and the progress that it told. */
  readonly toldAt: number
  readonly toldProgress: number
  /** How often it was offered again after a start of the device. */
  readonly resends: number
}

/** `server`: the update server, or we. */
export type FailureReason = 'offline' | 'timeout' | 'device' | 'server'

/** What the project was told last: what it counts of this device. */
export interface CountedUpdate {
  readonly project: string
  readonly release: ReleaseKey
  /** Id of the rollout it came by. */
  readonly rollout: string | null
  readonly stage: Stage
}

/** How often one firmware was tried by itself. */
export interface UpdateAttempts {
  readonly firmware: string
  readonly index: number
  /** Id of the rollout it came by. */
  readonly rollout: string | null
  /** What began the last one. */
  readonly by: Trigger
  /** With the one that is under way. */
  readonly count: number
  /** From when on it is tried again, Unix ms; null: not by itself, or it is under way. */
  readonly nextAt: number | null
  /** Since when the device had it, Unix ms; null: it has not, or fell back. */
  readonly doneAt: number | null
}
