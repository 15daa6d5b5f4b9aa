import type { UpdateContext } from '#actors/update/state'
import type { ReadRollout } from '#test/simulation/reference-updates'

/**
 * A rollout that was seen stopped or paused, and not changed since: no new device may get a firmware by it. Contract 6.
 */
export class StoppedRollout {
  /** The time at which the rollout was seen not running, Unix ms. Undefined: the rollout runs, or may run. */
  #since: number | undefined

  /** Call at rest. */
  seen(rollout: ReadRollout | undefined, now: number): void {
    this.#since = rollout === undefined || rollout.state === 'running' ? undefined : now
  }

  /** A user sets, pauses or resumes the rollout. */
  changed(): void {
    this.#since = undefined
  }

  forbids({ by, offer, beganAt }: UpdateContext): boolean {
    return this.#since !== undefined && by !== 'post' && offer?.rollout != null && beganAt > this.#since
  }
}
