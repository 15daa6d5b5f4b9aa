import type { ReleaseKey, StoredRelease } from '#model/release'
import type { RolloutBody, RolloutCounts, StoredRollout } from '#model/rollout'

/** What a project can be asked or told. Authors are resource names. */
export type ProjectCommand =
  | PutRelease
  | DeleteRelease
  | PutPin
  | DeletePin
  | PutRollout
  | { readonly type: 'delete_rollout' }
  | SwitchRollout
  | Walk
  | WalkProgress
  | WalkDone
  | { readonly type: 'walks_begun' | 'walk_again' }
  | JobMoved

/** Its image is there already. Answered with `PutReleaseAnswer`. */
export interface PutRelease {
  readonly type: 'put_release'
  readonly release: StoredRelease
}

export interface PutReleaseAnswer {
  readonly isNew: boolean
  /** As it is stored: what was there before, if it was. */
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

/** `id`: of the rollout, should this be a new one. Answered with `RolloutAnswer`. */
export interface PutRollout {
  readonly type: 'put_rollout'
  readonly body: RolloutBody
  readonly id: string
  readonly author: string
}

/** Answered with `RolloutAnswer`. */
export interface SwitchRollout {
  readonly type: 'pause' | 'resume'
  readonly author: string
}

/** `isNew`: there was none, or one of another firmware. */
export interface RolloutAnswer {
  readonly isNew: boolean
  readonly rollout: StoredRollout
  readonly counts: RolloutCounts
}

export interface Walk {
  readonly type: 'walk'
  readonly request: WalkRequest
}

/** Of the walk that is under way: the last device that was looked at, and how many of all until then are chosen. */
export interface WalkProgress {
  readonly type: 'walk_progress'
  readonly cursor: string
  readonly chosen: number
}

/** It is through; of all of its devices so many are chosen. */
export interface WalkDone {
  readonly type: 'walk_done'
  readonly chosen: number
  /** Whether nothing waits for its turn any more, of this walk and of those before it. */
  readonly isBegun: boolean
}

/** Go through the devices of a project, and see who needs an update. */
export interface WalkRequest {
  readonly by: 'hook' | 'cron' | 'rollout'
  /** Null: all of them. As it is stored: sorted, each once; none, of one that was called off. */
  readonly devices: readonly string[] | null
  /** Whose reach narrows them; null: nobody's. */
  readonly author: string | null
}

/** Where the update of a device stands, as far as it is counted. */
export type Stage = 'running' | 'done' | 'failed' | 'refused'

/** Told by updates, in the commit in which they moved. Null: not counted. */
export interface JobMoved {
  readonly type: 'job_moved'
  readonly release: ReleaseKey
  /** Id of the rollout it came by. */
  readonly rollout: string | null
  readonly from: Stage | null
  readonly to: Stage | null
}
