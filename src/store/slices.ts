import type { World } from '#runtime/world'

/** How long work of a start goes on before the loop is given back: after a failed write others are answered meanwhile. */
const sliceMs = 2

/** Divides long work, so that others have the loop in between. */
export class Slices {
  readonly #world: World
  #began: number

  constructor(world: World) {
    this.#world = world
    this.#began = world.monotonic()
  }

  /** Whether it is others' turn. */
  get isOver(): boolean {
    return this.#world.monotonic() - this.#began >= sliceMs
  }

  async next(): Promise<void> {
    await new Promise<void>((resolve) => this.#world.soon(resolve))
    this.#began = this.#world.monotonic()
  }
}
