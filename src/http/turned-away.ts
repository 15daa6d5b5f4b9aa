import type { ServerLog } from '#http/server-log'
import type { World } from '#runtime/world'

/** After a line has been said, others are only counted for so long. */
const quietMs = 1000

/**
 * Says who was answered 503, or whose answer ended early for what would have been one. Such answers come in floods, from a server that has too much to do already: the first is
 * said, those of the second behind it are counted, and their number is said at its end.
 */
export class TurnedAway {
  readonly #world: World
  readonly #log: ServerLog
  readonly #more: string
  #isQuiet = false
  #unsaid = 0

  /** `more`: what is said of those that are only counted. */
  constructor(world: World, log: ServerLog, more: string) {
    this.#world = world
    this.#log = log
    this.#more = more
  }

  /** `line`: what is said of a request. */
  add(line: () => object): void {
    if (this.#isQuiet) {
      this.#unsaid++
      return
    }
    this.#log.warn(line(), 'request')
    this.#rest()
  }

  #rest(): void {
    this.#isQuiet = true
    this.#world.after(quietMs, () => {
      this.#isQuiet = false
      if (this.#unsaid === 0) return
      this.#log.warn({ status: 503, requests: this.#unsaid }, this.#more)
      this.#unsaid = 0
      this.#rest()
    })
  }
}
