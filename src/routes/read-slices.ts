import type { Caller } from '#model/caller'
import { checkCurrent } from '#routes/check-current'
import { type ReadTurns, readTurnsOf } from '#routes/read-turns'
import type { World } from '#runtime/world'

/** How long is looked and made before the loop is given back. */
const sliceMs = 2

/** The slices of one long answer: everybody else waits for one of them, and none is begun for who may not have it any more. */
export class ReadSlices {
  readonly #world: World
  readonly #caller: Caller
  readonly #turns: ReadTurns
  /** World.monotonic of when the slice of now began. */
  #began = Number.NEGATIVE_INFINITY

  constructor(world: World, caller: Caller) {
    this.#world = world
    this.#caller = caller
    this.#turns = readTurnsOf(world)
  }

  /** Gives the loop back, and comes again for the next slice. @throws Problem `overloaded` */
  async next(): Promise<void> {
    await this.#turns.next(this.#caller)
    checkCurrent(this.#caller)
    this.#began = this.#world.monotonic()
  }

  get isOver(): boolean {
    return this.#world.monotonic() - this.#began >= sliceMs
  }
}
