import type { World } from '#runtime/world'

/** The log of the server; a pino logger fits. */
export interface ServerLog {
  isLevelEnabled(level: 'debug'): boolean
  debug(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** After a line was logged, further ones are only counted during this time. */
const quietMs = 1000

/**
 * Logs requests that were answered 503, or whose answer was cut off for the same reasons. They come in floods, from a
 * server that is already overloaded: the first is logged, those of the next second are counted, and the log gets their
 * number at its end.
 */
export class OverloadLog {
  readonly #world: World
  readonly #log: ServerLog
  readonly #more: string
  #isQuiet = false
  #unsaid = 0

  /** `more`: the log text for the counted ones. */
  constructor(world: World, log: ServerLog, more: string) {
    this.#world = world
    this.#log = log
    this.#more = more
  }

  /** `line`: the log entry of a request. */
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

/** Origins are chosen by callers: after this many different ones, no more are logged. */
const loggedOriginsMax = 100
/** A host name has at most 253 characters. */
const originCharactersMax = 300

/** Logs each refused origin once, with the setting that admits it. */
export class RefusedOrigins {
  readonly #log: ServerLog
  readonly #logged = new Set<string>()

  constructor(log: ServerLog) {
    this.#log = log
  }

  add(text: string): void {
    const origin = text.slice(0, originCharactersMax)
    if (this.#logged.has(origin) || this.#logged.size >= loggedOriginsMax) return
    this.#logged.add(origin)
    this.#log.warn(
      { origin },
      'refused a page of another origin: to admit it, add it to CORS_ORIGINS, or to PUBLIC_URL if it is an address of this server',
    )
  }
}
