import type { ReleaseKey, StoredRelease } from '#model/release'
import type { RolloutBody } from '#model/rollout'

/** What a project can be asked or told. Authors are resource names. */
export type ProjectCommand =
  | { readonly type: 'put_release'; readonly release: StoredRelease }
  | { readonly type: 'delete_release'; readonly key: ReleaseKey }
  | { readonly type: 'put_pin'; readonly device: string; readonly firmware: string }
  | { readonly type: 'delete_pin'; readonly device: string }
  /** `id`: of the rollout, should this be a new one. */
  | { readonly type: 'put_rollout'; readonly body: RolloutBody; readonly id: string; readonly author: string }
  | { readonly type: 'delete_rollout' }
  | { readonly type: 'pause' | 'resume'; readonly author: string }
  | { readonly type: 'walk'; readonly request: WalkRequest }
  | { readonly type: 'walk_progress'; readonly cursor: string; readonly chosen: number }
  | { readonly type: 'walk_done'; readonly chosen: number }
  | JobMoved

/** Go through the devices of a project, and see who needs an update. */
export interface WalkRequest {
  readonly by: 'hook' | 'cron' | 'rollout'
  /** Null: all of them. */
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
