/** What a start has to apply again at most, per tenant. */
export interface RedoLimits {
  readonly eventsMax: number
  readonly bytesMax: number
  /**
   * With many actors that is little for each, and nearly every event would be followed by a snapshot. So both limits are
   * as many times higher as it takes for each unsaved actor to have `eventsPerActor`, but at most `timesMax` times.
   */
  readonly growth?: { readonly eventsPerActor: number; readonly timesMax: number }
}

/** Whoever waits longer than this share of the limit is saved, and all who wait are within that share of it. */
const youngRatio = 0.25
const spreadRatio = 0.7
/** By how much fewer are thought to wait with each limit that the stream grows by. */
const waneRatio = 0.1
/** By how much the limit comes down while the stream grows by one. */
const descentRatio = 1 / 16

/**
 * How fast the actors of one stream are saved: evenly, so many for each event that all who wait come before their limit.
 * Actors that began to report together would else be saved together for ever, and everybody would wait for those commits
 * (seen: 10 000 devices at half of full speed, acknowledged 55 ms late in 1 of 100 cases).
 *
 * The pace is that of the most who waited, until those are saved: the fewer are left, the slower it would be, and the last
 * of a million would reach the limit together. For the same reason the limit comes down slowly.
 */
export class RedoPace {
  readonly #limits: RedoLimits
  /** How far the stream was when this was looked at last. */
  #taken: number
  #bytes = 0
  /** How many times the limits hold; 0 before the first look. */
  #times = 0
  #waiting = 0
  /** Snapshots that are due, the next one in part. */
  #owed = 0

  constructor(limits: RedoLimits, taken: number) {
    this.#limits = limits
    this.#taken = taken
  }

  /** The stream has come so far, and so many wait. `oldest`: how much came since the first event of who waits longest. */
  look(taken: number, bytes: number, waiting: number, oldest: Stretch): void {
    const { eventsPerActor, timesMax } = this.#limits.growth ?? { eventsPerActor: 0, timesMax: 1 }
    const wanted = Math.max(1, Math.min((waiting * eventsPerActor) / this.#limits.eventsMax, timesMax))
    if (this.#times === 0) this.#times = firstTimes(this.#shareOf(oldest), timesMax)
    if (this.#share(oldest) < youngRatio) {
      this.#times = this.#shareOf(oldest) / youngRatio
      this.#waiting = waiting
    }
    const grown = this.#shareOf({ events: taken - this.#taken, bytes: bytes - this.#bytes })
    this.#times = Math.max(wanted, this.#times - Math.max(grown, 0) * descentRatio)
    // What was thought too big is put right when it is stored: until that is made good nothing grew.
    if (grown <= 0) return
    this.#taken = taken
    this.#bytes = bytes
    const growth = grown / this.#times
    this.#waiting = Math.max(waiting, this.#waiting * (1 - growth * waneRatio))
    this.#owed += (this.#waiting * growth) / spreadRatio
  }

  /** The stream has come so far, and nobody waits. */
  lookAway(taken: number, bytes: number): void {
    this.#times = 1
    this.#taken = taken
    this.#bytes = bytes
    this.#waiting = 0
    this.#owed = 0
  }

  /** Whether one who waits since then is to be saved now. */
  isDue(since: Stretch): boolean {
    const share = this.#share(since)
    return share >= 1 || (share >= youngRatio && this.#owed >= 1)
  }

  saved(): void {
    this.#owed = Math.max(0, this.#owed - 1)
  }

  /** Nobody else is due: what is owed beyond the next one is forgiven. */
  rest(): void {
    this.#owed = Math.min(this.#owed, 1)
  }

  #share(stretch: Stretch): number {
    return this.#shareOf(stretch) / this.#times
  }

  #shareOf({ events, bytes }: Stretch): number {
    return Math.max(events / this.#limits.eventsMax, bytes / this.#limits.bytesMax)
  }
}

/** What an earlier process left is saved evenly, too, as far as the limit lets it. */
function firstTimes(left: number, timesMax: number): number {
  return Math.max(1, left, Math.min(left / spreadRatio, timesMax))
}

export interface Stretch {
  readonly events: number
  readonly bytes: number
}
