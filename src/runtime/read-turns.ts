import { type Principal, principalKey } from '#model/caller'
import { FairQueue } from '#runtime/fair-queue'
import type { World } from '#runtime/world'

/**
 * Long reads run one at a time, one slice in each iteration of the event loop: any other request waits for one slice
 * only, independent of the number of long reads. Users alternate, so that one user with many reads does not slow down
 * others.
 */
export class ReadTurns {
  readonly #world: World
  readonly #waiting = new FairQueue<() => void>()

  constructor(world: World) {
    this.#world = world
  }

  /** Resolves when the caller may read, which it may until its next await. */
  next(principal: Principal): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.add(principalKey(principal), resolve)
      if (this.#waiting.size === 1) this.#world.soon(() => this.#give())
    })
  }

  #give(): void {
    this.#waiting.take()?.()
    if (this.#waiting.size > 0) this.#world.soon(() => this.#give())
  }
}

const turnsOfWorlds = new WeakMap<World, ReadTurns>()

/** All long reads of one process share one queue. */
export function readTurnsOf(world: World): ReadTurns {
  const turns = turnsOfWorlds.get(world) ?? new ReadTurns(world)
  turnsOfWorlds.set(world, turns)
  return turns
}
