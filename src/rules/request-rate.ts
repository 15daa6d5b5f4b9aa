/**
 * How many requests may be made: so many at once, and then so many a second, by the server's clock of the turns. What may
 * be made by all functions together is asked too.
 */
export class RequestRate {
  readonly #all: RequestRate | undefined
  readonly #atOnce: number
  readonly #perSecond: number
  #left: number
  /** When `left` was what it is, Unix ms. */
  #at = Number.NEGATIVE_INFINITY

  constructor(all: RequestRate | undefined, atOnce: number, perSecond: number) {
    this.#all = all
    this.#atOnce = atOnce
    this.#perSecond = perSecond
    this.#left = atOnce
  }

  /**
   * Whether one more may be made now, Unix ms, after those that the same turn makes: so many by this function, so many by
   * all functions. Changes nothing.
   */
  mayTake(now: number, made: number, madeByAll: number): boolean {
    return this.#leftAt(now) - made >= 1 && this.#all?.mayTake(now, madeByAll, madeByAll) !== false
  }

  /** Takes as many as `mayTake` allowed. */
  take(now: number, count: number): void {
    this.#left = this.#leftAt(now) - count
    this.#at = now
    this.#all?.take(now, count)
  }

  #leftAt(now: number): number {
    const refill = ((now - this.#at) * this.#perSecond) / 1_000
    // The clock was set back, by more than it takes to fill up: nobody waits until it is where it was.
    if (refill < -this.#atOnce) return this.#atOnce
    return Math.min(this.#atOnce, this.#left + Math.max(0, refill))
  }
}

/** Of all functions together: what stores and mails them has to keep up, and devices come first. */
const allAtOnce = 8_192
const allPerSecond = 500

/** Of one function, whoever may get many mails an hour; those who may get few are told how many more there were. */
const perSecondMin = 16

export function rateOfAll(): RequestRate {
  return new RequestRate(undefined, allAtOnce, allPerSecond)
}

/** `kept`: as many as are kept of one function. */
export function rateOfFunction(all: RequestRate, kept: number, mailsPerHourMax: number): RequestRate {
  return new RequestRate(all, kept, Math.max(perSecondMin, (2 * mailsPerHourMax) / 3_600))
}

/** What came above the rate, by function: told as a number, from time to time. */
export class Overflows {
  #counts = new Map<string, Map<string, number>>()

  add(tenant: string, fn: string, count: number): void {
    let functions = this.#counts.get(tenant)
    if (!functions) {
      functions = new Map()
      this.#counts.set(tenant, functions)
    }
    functions.set(fn, (functions.get(fn) ?? 0) + count)
  }

  /** All that was added since the last time. */
  drain(): readonly { readonly tenant: string; readonly function: string; readonly count: number }[] {
    const drained = [...this.#counts].flatMap(([tenant, functions]) =>
      [...functions].map(([fn, count]) => ({ tenant, function: fn, count })),
    )
    this.#counts = new Map()
    return drained
  }

  /** Of a function that is no more nobody has to hear. */
  forget(tenant: string, fn: string): void {
    this.#counts.get(tenant)?.delete(fn)
  }

  forgetTenant(tenant: string): void {
    this.#counts.delete(tenant)
  }
}
