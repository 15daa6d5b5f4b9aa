import { type Caller, type Principal, principalKey } from '#model/caller'
import { Problem } from '#model/problem'
import { FairQueue } from '#runtime/fair-queue'
import { Slices } from '#runtime/slices'
import type { World } from '#runtime/world'

/**
 * A long answer ends when the caller loses the right to it. A started answer breaks off, so the client notices.
 * Otherwise the client has to repeat the request and gets the reason.
 *
 * @throws Problem `overloaded`
 */
export function checkCurrent(caller: Caller): void {
  if (!caller.isCurrent()) throw new Problem('overloaded', 'the access rights changed during the answer: try again')
}

/**
 * The slices of one long answer: other requests wait for at most one slice, and no slice starts after the caller lost
 * the right to the answer.
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

/**
 * Long answers run one at a time, one slice in each turn of the loop: any other request waits for one slice only,
 * independent of the number of long answers. Users alternate, so that one user with many reads does not slow down
 * others.
 */
class ReadTurns {
  readonly #world: World
  readonly #waiting = new FairQueue<() => void>(Number.POSITIVE_INFINITY)

  constructor(world: World) {
    this.#world = world
  }

  /** Resolves when it is the caller's turn, which lasts until the next await. */
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

/** All long answers of one process share the turns. */
export function readTurnsOf(world: World): ReadTurns {
  let turns = turnsOfWorlds.get(world)
  if (!turns) {
    turns = new ReadTurns(world)
    turnsOfWorlds.set(world, turns)
  }
  return turns
}
