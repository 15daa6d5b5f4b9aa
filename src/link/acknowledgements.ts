import type { Link } from '#link/link'
import type { World } from '#runtime/world'

/**
 * Links with something to acknowledge. Whatever is released in one turn of the loop is acknowledged together: one write
 * a link, one task for all of them.
 */
export class Acknowledgements {
  readonly #world: World
  #links: Link[] = []

  constructor(world: World) {
    this.#world = world
  }

  /** At most once before each `flushAcknowledgements` of the link. */
  add(link: Link): void {
    if (this.#links.push(link) === 1) this.#world.soon(() => this.#flush())
  }

  #flush(): void {
    const links = this.#links
    this.#links = []
    for (const link of links) link.flushAcknowledgements()
  }
}
