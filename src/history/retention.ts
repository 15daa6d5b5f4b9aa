import { dayMs } from '#history/history-keys'
import type { Retained } from '#history/history-query'
import type { SeriesKind } from '#history/series-table'
import { type HistoryRetention, type ServiceRetention, spanMs } from '#model/history-retention'

export interface HistoryLimits {
  /** The number of points in memory at which they are stored. */
  readonly unstoredMax: number
  /** The number of runs of one level at which they are merged. */
  readonly runsMax: number
  /** A merge stores a series with this many points in blocks. */
  readonly blockPointsMin: number
  /** How long points are kept. */
  readonly rawMs: number
  /** How long summaries of hours are kept. */
  readonly hoursMs: number
  /** The largest size of all history on the disk. Infinity: no limit. */
  readonly bytesMax: number
}

export const defaultLimits: HistoryLimits = {
  unstoredMax: 524_288,
  runsMax: 16,
  blockPointsMin: 256,
  rawMs: 30 * dayMs,
  hoursMs: 730 * dayMs,
  bytesMax: Number.POSITIVE_INFINITY,
}

/**
 * How long the points of a series, its summaries of hours, and its summaries of days are kept, in ms. Summaries are
 * kept at least as long as the finer values that they summarize.
 */
export interface Retention {
  readonly rawMs: number
  readonly hoursMs: number
  readonly daysMs: number
  /** False: nothing is stored. */
  readonly isKept: boolean
}

/** Nothing was deleted to keep the total size below its limit. */
export const noCut: Retained = { rawFrom: 0, hoursFrom: 0, daysFrom: 0 }

/** The retention of all series: the retention of the server, or another retention that the schema names. */
export class Retentions {
  readonly #limits: HistoryLimits
  readonly #ofServer: Retention
  /** Values before these times were deleted to keep the total size below its limit. */
  cut: Retained = noCut
  /** The retentions of schemas, by tenant, service and property. */
  #tenants = new Map<string, Map<string, ReadonlyMap<number, Retention>>>()

  constructor(limits: HistoryLimits) {
    this.#limits = limits
    this.#ofServer = this.#retentionOf({})
  }

  /** Replaces all retentions of schemas. */
  replace(list: readonly ServiceRetention[]): void {
    this.#tenants = new Map()
    for (const { tenant, service, properties } of list) this.set(tenant, service, properties)
  }

  set(tenant: string, service: string, properties: ServiceRetention['properties']): void {
    const services = this.#tenants.get(tenant) ?? new Map()
    this.#tenants.set(tenant, services)
    if (properties.size === 0) services.delete(service)
    else services.set(service, new Map([...properties].map(([id, asked]) => [id, this.#retentionOf(asked)])))
    if (services.size === 0) this.#tenants.delete(tenant)
  }

  deleteTenant(tenant: string): void {
    this.#tenants.delete(tenant)
  }

  /** The retentions that the schema of a service sets, by property. Undefined if it sets none. */
  ofService(tenant: string, service: string): ReadonlyMap<number, Retention> | undefined {
    return this.#tenants.get(tenant)?.get(service)
  }

  of(tenant: string, { service, propId }: Pick<SeriesKind, 'service' | 'propId'>): Retention {
    return this.ofService(tenant, service)?.get(propId) ?? this.#ofServer
  }

  oldestOfServer(now: number): number {
    return this.oldestStored(this.#ofServer, now)
  }

  /**
   * Points before this time are not stored. Points of the last 24 hours are stored even if the retention of points is
   * shorter, because they are summarized.
   */
  oldestStored(retention: Retention, now: number): number {
    if (!retention.isKept) return Number.POSITIVE_INFINITY
    return Math.max(0, now - Math.max(retention.rawMs, dayMs))
  }

  /** The span of a series that is still stored. */
  retainedAt(now: number, tenant: string, property: Pick<SeriesKind, 'service' | 'propId'>): Retained {
    const { rawMs, hoursMs, daysMs } = this.of(tenant, property)
    return {
      rawFrom: Math.max(this.cut.rawFrom, now - rawMs),
      hoursFrom: Math.max(this.cut.hoursFrom, now - hoursMs),
      daysFrom: Math.max(this.cut.daysFrom, now - daysMs),
    }
  }

  #retentionOf(asked: HistoryRetention): Retention {
    if (asked === false) return { rawMs: 0, hoursMs: 0, daysMs: 0, isKept: false }
    const msOf = (text: string | undefined, ofServer: number) => (text === undefined ? ofServer : spanMs(text))
    const rawMs = msOf(asked.raw, this.#limits.rawMs)
    const hoursMs = Math.max(rawMs, msOf(asked.hourly, this.#limits.hoursMs))
    const daysMs = Math.max(hoursMs, msOf(asked.daily, Number.POSITIVE_INFINITY))
    return { rawMs, hoursMs, daysMs, isKept: daysMs > 0 }
  }
}
