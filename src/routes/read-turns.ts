import type { World } from '#runtime/world'

/**
 * Long answers go on one at a time, one in each turn of the loop: however many are being read, everybody else waits for
 * a piece of one of them and not of each.
 */
export class ReadTurns {
  readonly #world: World
  readonly #waiting: (() => void)[] = []

  constructor(world: World) {
    this.#world = world
  }

  /** Fulfilled when it is the caller's turn, which lasts until he waits again for anything. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#waiting.push(resolve) === 1) this.#world.soon(() => this.#give())
    })
  }

  #give(): void {
    this.#waiting.shift()?.()
    if (this.#waiting.length > 0) this.#world.soon(() => this.#give())
  }
}

const turnsOfWorlds = new WeakMap<World, ReadTurns>()

/** All long answers of one process share the turns. */
export function readTurnsOf(world: World): ReadTurns {
  let turns = turnsOfWorlds.get(world)
  if (!turns) {
    turns = new ReadTurns(world)
    turnsOfWorlds.set(world, turns)
  }
  return turns
}
