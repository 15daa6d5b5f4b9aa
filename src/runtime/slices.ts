import { type Caller, type Principal, principalKey } from '#model/caller'
import { Problem } from '#model/problem'
import { FairQueue } from '#runtime/fair-queue'
import type { World } from '#runtime/world'

/** The length of a slice: other work waits for the event loop at most this long. */
const defaultMs = 2
/** The length of a slice of background work, for which no client waits. */
export const backgroundSliceMs = 1

/** Divides long work into slices, so that the event loop does other work in between. */
export class Slices {
  static readonly notBegun = Number.NEGATIVE_INFINITY

  readonly #world: World
  readonly #lengthMs: number
  /** World.monotonic. */
  #began: number

  /** `began`: the beginning of the first slice (World.monotonic). With `notBegun`, the first `isOver` is true. */
  constructor(world: World, lengthMs = defaultMs, began = world.monotonic()) {
    this.#world = world
    this.#lengthMs = lengthMs
    this.#began = began
  }

  get isOver(): boolean {
    return this.#world.monotonic() - this.#began >= this.#lengthMs
  }

  /** Yields to the loop, and begins another slice. */
  async next(): Promise<void> {
    await new Promise<void>((resolve) => this.#world.soon(resolve))
    this.begin()
  }

  begin(): void {
    this.#began = this.#world.monotonic()
  }
}

/** Calls the step until it returns false, and yields to the loop between slices. */
export function runInSlices(world: World, step: () => boolean): void {
  world.soon(() => {
    const slice = new Slices(world, backgroundSliceMs)
    while (step()) {
      if (!slice.isOver) continue
      runInSlices(world, step)
      return
    }
  })
}

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
