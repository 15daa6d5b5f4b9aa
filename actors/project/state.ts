import type { WalkRequest } from '#actors/project/commands'
import type { StoredRelease } from '#model/release'
import type { RolloutCounts, StoredRollout } from '#model/rollout'

/** A project as its actor knows it. One that has nothing has an actor too: it says so. */
export interface ProjectState {
  readonly project: string
  /** By `releaseName`. */
  readonly releases: ReadonlyMap<string, StoredRelease>
  /** By device: the version it is held at. */
  readonly pins: ReadonlyMap<string, string>
  readonly rollout: StoredRollout | undefined
  readonly tally: StoredTally
  /** The devices that are being gone through, and those that will be next. */
  readonly walk: StoredWalk | undefined
  readonly nextWalk: WalkRequest | undefined
}

/** What updates told. */
export interface StoredTally {
  /** By `releaseName`: how many updates are under way to it; none is not kept. */
  readonly uses: Readonly<Record<string, number>>
  /** Of the rollout of now. */
  readonly counts: RolloutCounts
}

/** How far a walk has come. */
export interface StoredWalk extends WalkRequest {
  /** The last device that was looked at; empty at its beginning. */
  readonly cursor: string
  /** How many of them the rollout means. */
  readonly chosen: number
}
