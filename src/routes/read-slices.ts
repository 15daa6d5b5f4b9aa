import type { Caller } from '#model/caller'
import { checkCurrent } from '#routes/check-current'
import { type ReadTurns, readTurnsOf } from '#routes/read-turns'
import { Slices } from '#runtime/slices'
import type { World } from '#runtime/world'

/** The slices of one long answer: everybody else waits for one of them, and none is begun for who may not have it any more. */
export class ReadSlices extends Slices {
  readonly #caller: Caller
  readonly #turns: ReadTurns

  constructor(world: World, caller: Caller) {
    super(world, undefined, Slices.notBegun)
    this.#caller = caller
    this.#turns = readTurnsOf(world)
  }

  /** Gives the loop back, and comes again for the next slice. @throws Problem `overloaded` */
  override async next(): Promise<void> {
    await this.#turns.next(this.#caller)
    checkCurrent(this.#caller)
    this.begin()
  }
}
