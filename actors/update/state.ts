import type { Trigger, UpdateState } from '#model/firmware'
import type { OfferedFirmware } from '#model/update-offer'

/** The update of one device at rest: where it stands, and what it remembers of the one before. */
export interface StoredUpdate {
  /** Version of the machine by which it stands there. */
  readonly machine: number
  readonly state: UpdateState
  readonly context: UpdateContext
  readonly attempts: UpdateAttempts | null
}

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
  readonly reason: 'offline' | 'timeout' | 'device' | 'server' | null
  /** When it fails unless something comes; null: it may stay as it is. */
  readonly deadline: number | null
  readonly beganAt: number
  /** The last event, and the progress that it told. */
  readonly toldAt: number
  readonly toldProgress: number
  /** How often it was offered again after a start of the device. */
  readonly resends: number
}

/** How often one firmware was tried by itself, and in vain. */
export interface UpdateAttempts {
  readonly firmware: string
  readonly index: number
  /** Id of the rollout it came by. */
  readonly rollout: string | null
  readonly count: number
  /** When it is tried again, Unix ms; null: not by itself. */
  readonly nextAt: number | null
}
