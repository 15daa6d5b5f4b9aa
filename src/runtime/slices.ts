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
