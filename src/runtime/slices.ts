import type { World } from '#runtime/world'

/** How long one slice holds the event loop: all other work waits this long at most. */
const defaultMs = 2
/** The same of work in the background, which no client waits for. */
export const backgroundSliceMs = 1

/** Divides long work into slices, so that other work gets the event loop in between. */
export class Slices {
  static readonly notBegun = Number.NEGATIVE_INFINITY

  readonly #world: World
  readonly #lengthMs: number
  /** World.monotonic. */
  #began: number

  /** `began`: when the first slice began, by World.monotonic. `notBegun`: the first `isOver` is true. */
  constructor(world: World, lengthMs = defaultMs, began = world.monotonic()) {
    this.#world = world
    this.#lengthMs = lengthMs
    this.#began = began
  }

  get isOver(): boolean {
    return this.#world.monotonic() - this.#began >= this.#lengthMs
  }

  /** Gives the loop back; another slice begins when it returns. */
  async next(): Promise<void> {
    await new Promise<void>((resolve) => this.#world.soon(resolve))
    this.begin()
  }

  begin(): void {
    this.#began = this.#world.monotonic()
  }
}

/** Calls the step until it answers false, and gives the loop back between slices. */
export function inSlices(world: World, step: () => boolean): void {
  world.soon(() => {
    const slice = new Slices(world, backgroundSliceMs)
    while (step()) {
      if (!slice.isOver) continue
      inSlices(world, step)
      return
    }
  })
}
