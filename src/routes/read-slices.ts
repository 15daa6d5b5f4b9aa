import type { Caller } from '#model/caller'
import { Problem } from '#model/problem'
import { type ReadTurns, readTurnsOf } from '#runtime/read-turns'
import { Slices } from '#runtime/slices'
import type { World } from '#runtime/world'

/**
 * Ends a long answer when the rights of its caller have changed or ended. An answer that has begun breaks off, so the
 * client notices. Before that, the client gets this error, and has to repeat the request.
 *
 * @throws Problem `overloaded`
 */
export function checkCurrent(caller: Caller): void {
  if (!caller.isCurrent()) throw new Problem('overloaded', 'the access rights changed during the answer: try again')
}

/**
 * The slices of one long answer: other requests wait for at most one slice, and no slice starts after the rights
 * of the caller changed.
 */
export class ReadSlices extends Slices {
  readonly #caller: Caller
  readonly #turns: ReadTurns

  constructor(world: World, caller: Caller) {
    super(world, undefined, Slices.notBegun)
    this.#caller = caller
    this.#turns = readTurnsOf(world)
  }

  /** Yields to the loop and resumes for the next slice. @throws Problem `overloaded` */
  override async next(): Promise<void> {
    await this.#turns.next(this.#caller)
    checkCurrent(this.#caller)
    this.begin()
  }
}
