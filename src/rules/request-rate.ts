import { changeCount, getOrInsert } from '#model/map-values'

/**
 * A token bucket for requests: `atOnce` requests at once, and then `perSecond`, by the server time of turns. If the
 * bucket is part of a shared limit (`#all`), it also checks and reduces that limit.
 */
export class RequestRate {
  readonly #all: RequestRate | undefined
  readonly #atOnce: number
  readonly #perSecond: number
  #left: number
  /** The time to which `#left` refers, Unix ms. */
  #at = Number.NEGATIVE_INFINITY

  constructor(all: RequestRate | undefined, atOnce: number, perSecond: number) {
    this.#all = all
    this.#atOnce = atOnce
    this.#perSecond = perSecond
    this.#left = atOnce
  }

  /**
   * Whether one more request is allowed. `now`: Unix ms. `ofFunction` and `ofAll`: requests of the same turn, by this
   * function and by all functions. Changes nothing.
   */
  mayTake(now: number, ofFunction: number, ofAll: number): boolean {
    return this.#leftAt(now) - ofFunction >= 1 && this.#all?.mayTake(now, ofAll, ofAll) !== false
  }

  /** Takes requests that `mayTake` has allowed. */
  take(now: number, count: number): void {
    this.#left = this.#leftAt(now) - count
    this.#at = now
    this.#all?.take(now, count)
  }

  #leftAt(now: number): number {
    const refill = ((now - this.#at) * this.#perSecond) / 1_000
    // The clock was set back by more than the time that an empty bucket takes to fill. It counts as full, because
    // requests must not wait until the clock catches up.
    if (refill < -this.#atOnce) return this.#atOnce
    return Math.min(this.#atOnce, this.#left + Math.max(0, refill))
  }
}

/** The number of requests of a turn, by the rate that limits them. */
export type RequestedCounts = ReadonlyMap<Pick<RequestRate, 'take'>, number>

/**
 * The limit of all functions together: storing and mailing must keep up with the requests, and devices have priority.
 */
const allAtOnce = 8_192
const allPerSecond = 500

/**
 * The minimum rate of one function, independent of its subscribers' mail limits. Subscribers with a low limit get the
 * number of the remaining requests instead.
 */
const perSecondMin = 16

export function rateOfAll(): RequestRate {
  return new RequestRate(undefined, allAtOnce, allPerSecond)
}

/** `storedMax`: the maximum number of stored requests of one function. */
export function rateOfFunction(all: RequestRate, storedMax: number, mailsPerHourMax: number): RequestRate {
  return new RequestRate(all, storedMax, Math.max(perSecondMin, (2 * mailsPerHourMax) / 3_600))
}

/**
 * Limits of webhooks, of a tenant and of a function. A burst may contain more webhooks than can wait; then the oldest
 * ones are dropped. The number per second is about what can be sent.
 */
const webhooks = { ofTenantAtOnce: 40_000, ofTenantPerSecond: 1_000, atOnce: 20_000, perSecond: 200 }

export function webhookRateOfTenant(): RequestRate {
  return new RequestRate(undefined, webhooks.ofTenantAtOnce, webhooks.ofTenantPerSecond)
}

export function webhookRateOfFunction(ofTenant: RequestRate): RequestRate {
  return new RequestRate(ofTenant, webhooks.atOnce, webhooks.perSecond)
}

/** Requests of a function above its rate, or beyond its author's share of a turn. */
export interface Overflow {
  readonly tenant: string
  readonly function: string
  /** The node that requested webhooks; undefined for mails. */
  readonly webhook: string | undefined
  readonly count: number
}

/** The number of requests above the rate, by function; drained periodically. */
export class Overflows {
  #counts = new Map<string, Map<string, Map<string | undefined, number>>>()

  add(tenant: string, fn: string, count: number, webhook?: string): void {
    const functions = getOrInsert(this.#counts, tenant, () => new Map())
    changeCount(
      getOrInsert(functions, fn, () => new Map()),
      webhook,
      count,
    )
  }

  /** All counts since the last call. */
  drain(): readonly Overflow[] {
    const drained = [...this.#counts].flatMap(([tenant, functions]) =>
      [...functions].flatMap(([fn, counts]) =>
        [...counts].map(([webhook, count]) => ({ tenant, function: fn, webhook, count })),
      ),
    )
    this.#counts = new Map()
    return drained
  }

  /** Drops the count of a deleted function. */
  forget(tenant: string, fn: string): void {
    this.#counts.get(tenant)?.delete(fn)
  }

  forgetTenant(tenant: string): void {
    this.#counts.delete(tenant)
  }
}
