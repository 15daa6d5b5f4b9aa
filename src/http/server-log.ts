import type { World } from '#runtime/world'

/** The log of the server; a pino logger fits. */
export interface ServerLog {
  isLevelEnabled(level: 'debug'): boolean
  debug(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** After a logged request, further requests are only counted during this time. */
const countingMs = 1000

/**
 * Logs requests that an overloaded server refused (503) or broke off. There may be very many, so the first one is
 * logged, those of the next second are counted, and their number is logged.
 */
export class OverloadLog {
  readonly #world: World
  readonly #log: ServerLog
  readonly #summaryText: string
  #isCounting = false
  #countedRequests = 0

  /** `summaryText`: the log message with the number of counted requests. */
  constructor(world: World, log: ServerLog, summaryText: string) {
    this.#world = world
    this.#log = log
    this.#summaryText = summaryText
  }

  /** `line`: the log entry of a request. */
  add(line: () => object): void {
    if (this.#isCounting) {
      this.#countedRequests++
      return
    }
    this.#log.warn(line(), 'request')
    this.#countForAWhile()
  }

  #countForAWhile(): void {
    this.#isCounting = true
    this.#world.after(countingMs, () => {
      this.#isCounting = false
      if (this.#countedRequests === 0) return
      this.#log.warn({ requests: this.#countedRequests }, this.#summaryText)
      this.#countedRequests = 0
      this.#countForAWhile()
    })
  }
}

/** The most logged origins. They need a limit, because callers choose them. */
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
