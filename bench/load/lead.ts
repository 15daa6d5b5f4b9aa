export interface LeadOptions {
  /** So many events may be on their way to the slowest dashboard. */
  readonly eventsMax: number
  /** Lets the server make so many more. */
  readonly grant: (events: number) => void
  /** Events that every dashboard has heard since `begin`. */
  readonly heardByAll: () => number
  /**
   * This process does nothing for so long after each look: sockets gather meanwhile, and are read in fewer and larger
   * pieces. It halves what the load costs while the server never waits for it; 0 for who has to be answered at once.
   */
  readonly napMs: number
}

/** uWebSockets.js writes up to so many messages to a socket in one piece; fewer at a time would cost more each. */
const pieceEvents = 32

const never = new Int32Array(new SharedArrayBuffer(4))

/**
 * Keeps a server no more than a fixed number of events ahead of its slowest dashboard: as fast as all of them can hear,
 * and none ever falls so far behind that it would be told less.
 */
export class Lead {
  granted = 0
  readonly #options: LeadOptions
  #isOn = false
  #isLooking = false

  constructor(options: LeadOptions) {
    this.#options = options
  }

  begin(): void {
    this.granted = 0
    this.#isOn = true
    this.moved()
  }

  stop(): void {
    this.#isOn = false
  }

  /** Some dashboards heard something. All of them are looked at after everybody has read, not at each of their reads. */
  moved(): void {
    if (this.#isLooking || !this.#isOn) return
    this.#isLooking = true
    setImmediate(() => {
      this.#isLooking = false
      if (!this.#isOn) return
      this.#look()
      if (this.#options.napMs > 0) Atomics.wait(never, 0, 0, this.#options.napMs)
    })
  }

  #look(): void {
    const { eventsMax, heardByAll, grant } = this.#options
    const room = eventsMax - (this.granted - heardByAll())
    const events = room - (room % pieceEvents)
    if (events <= 0) return
    this.granted += events
    grant(events)
  }
}
