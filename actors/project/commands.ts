import type { ReleaseKey, StoredRelease } from '#model/release'
import type { RolloutBody, RolloutCounts, StoredRollout } from '#model/rollout'

/**
 * Commands of a project. Each `author` is the resource name (CRN) of a user or a key.
 *
 * `scans_begun`: no device of a completed scan waits for its update any more. `repeat_scans`: after a restart, the
 * unfinished scans run again.
 */
export type ProjectCommand =
  | PutRelease
  | DeleteRelease
  | PutPin
  | DeletePin
  | PutRollout
  | { readonly type: 'delete_rollout' }
  | SwitchRollout
  | Scan
  | ScanProgress
  | ScanDone
  | { readonly type: 'scans_begun' | 'repeat_scans' }
  | JobMoved

/** Sent after the image was stored. Answered with `PutReleaseAnswer`. */
export interface PutRelease {
  readonly type: 'put_release'
  readonly release: StoredRelease
}

export interface PutReleaseAnswer {
  readonly isNew: boolean
  /** The stored release; an existing one stays unchanged. */
  readonly release: StoredRelease
}

export interface DeleteRelease {
  readonly type: 'delete_release'
  readonly key: ReleaseKey
}

/** Answered with `PutPinAnswer`. */
export interface PutPin {
  readonly type: 'put_pin'
  readonly device: string
  readonly firmware: string
}

export interface PutPinAnswer {
  readonly isNew: boolean
}

export interface DeletePin {
  readonly type: 'delete_pin'
  readonly device: string
}

/** Answered with `RolloutAnswer`. */
export interface PutRollout {
  readonly type: 'put_rollout'
  readonly body: RolloutBody
  /** The id of the rollout if it is new. */
  readonly id: string
  readonly author: string
}

/** Answered with `RolloutAnswer`. */
export interface SwitchRollout {
  readonly type: 'pause' | 'resume'
  readonly author: string
}

export interface RolloutAnswer {
  /** There was no rollout, or one of another firmware. */
  readonly isNew: boolean
  readonly rollout: StoredRollout
  readonly counts: RolloutCounts
}

export interface Scan {
  readonly type: 'scan'
  readonly request: ScanRequest
}

/**
 * Progress of the running scan: the last checked device, and how many of the checked devices the rollout has selected.
 */
export interface ScanProgress {
  readonly type: 'scan_progress'
  readonly cursor: string
  readonly chosen: number
}

/** The scan is complete. */
export interface ScanDone {
  readonly type: 'scan_done'
  /** The number of selected devices. */
  readonly chosen: number
  /** No device of this scan or of an earlier one waits for its update any more. */
  readonly isBegun: boolean
}

/** A request to check the devices of a project for updates. */
export interface ScanRequest {
  readonly by: 'hook' | 'cron' | 'rollout'
  /** The devices to scan. Null: all. Stored sorted and without duplicates; empty for a cancelled scan. */
  readonly devices: readonly string[] | null
  /** The author whose permissions limit the devices; null: no limit. */
  readonly author: string | null
}

/** The stage of a device's update, as counted by the project. */
export type Stage = 'running' | 'done' | 'failed' | 'refused'

/**
 * Sent by updates, in the commit of their change. `from` null: the update was not counted before. `to` null: it is no
 * longer counted.
 */
export interface JobMoved {
  readonly type: 'job_moved'
  readonly release: ReleaseKey
  /** Id of the rollout that began the update. */
  readonly rollout: string | null
  readonly from: Stage | null
  readonly to: Stage | null
}
