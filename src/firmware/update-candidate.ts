import type { Trigger } from '#model/firmware'

/** Called when a device has to wait. The returned function is called when the wait is over, unless the process dies. */
type Hold = () => () => void

/** Options of an update check. */
export interface CheckOptions {
  /** Only firmwares with these indexes; undefined: all. */
  readonly only?: readonly number[] | undefined
  /** Only rollout or pinned versions: not the newest release after the rollout ended. */
  readonly isForRollout?: boolean | undefined
  readonly hold?: Hold | undefined
}

/** A device to check for an update. */
export interface UpdateCandidate extends CheckOptions {
  readonly tenant: string
  readonly device: string
  readonly by: Trigger
}

/** A candidate that waits for a slot or for the device to reconnect. */
export interface WaitingCandidate extends UpdateCandidate {
  readonly release: () => void
}

export function waitingOf(candidate: UpdateCandidate): WaitingCandidate {
  return { ...candidate, release: candidate.hold?.() ?? (() => {}) }
}
