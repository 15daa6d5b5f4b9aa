import type { UpdateContext } from '#actors/update/state'
import type { ReadRollout } from '#test/simulation/reference-updates'

/** A rollout that was seen to stand still, and that nobody asked for anything since: by it nobody new gets anything. Contract 6. */
export class StandingRollout {
  /** Unix ms; undefined: it runs, or may. */
  #since: number | undefined

  /** At rest. */
  seen(rollout: ReadRollout | undefined, now: number): void {
    this.#since = rollout === undefined || rollout.state === 'running' ? undefined : now
  }

  /** Somebody puts it, or switches it. */
  asked(): void {
    this.#since = undefined
  }

  isAgainst({ by, offer, beganAt }: UpdateContext): boolean {
    return this.#since !== undefined && by !== 'post' && offer?.rollout != null && beganAt > this.#since
  }
}
