import type { Trigger } from '#model/firmware'

/** Called when a device has to wait; what it answers is called when it waits no more. Not if the process dies before. */
type Hold = () => () => void

/** How a device is looked at. */
export interface Manner {
  /** Firmwares of these indexes; left out: all. */
  readonly only?: readonly number[] | undefined
  /** What comes by a rollout, or what the device is held at: not what is newest where there is no rollout any more. */
  readonly isForRollout?: boolean | undefined
  readonly hold?: Hold | undefined
}

/** A device to be looked at, whether an update of it is to begin. */
export interface Considered extends Manner {
  readonly tenant: string
  readonly device: string
  readonly by: Trigger
}

/** One that waits: for a place, or to come back. */
export interface Waiting extends Considered {
  readonly release: () => void
}

export function waitingOf(considered: Considered): Waiting {
  return { ...considered, release: considered.hold?.() ?? (() => {}) }
}
