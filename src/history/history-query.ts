import type { AcrossName, AggregateName } from '#model/aggregate'

/** A property of a service that is declared now, or that has history. */
export interface QueriedProperty {
  readonly propId: number
  /** Lower-case name of its type. */
  readonly type: string
  readonly name?: string
  readonly unit?: string
  /** Whether the values have names, so that the duration of each value can be counted. */
  readonly isEnum?: boolean
}

/** A service of a device, and the properties that a query asks for. */
export interface QueriedService {
  readonly device: string
  readonly service: string
  /** The properties that the device declares. */
  readonly declared: readonly QueriedProperty[]
  /** Undefined: all properties. */
  readonly propIds: readonly number[] | undefined
  /** The path at which a wrong property is reported. */
  readonly path: string
}

export interface QueriedBuckets {
  readonly interval: number
  readonly zone: string
  readonly aggregates: readonly AggregateName[] | undefined
  /** For a part of an export: the start of the whole export, so that all parts have the same interval. */
  readonly since?: number
}

/** A query of the history of some services of one tenant. */
export interface HistoryQuery {
  readonly tenant: string
  readonly services: readonly QueriedService[]
  /**
   * `service`: the series of one service. `series`: each series with its device and service. `status`: the only series
   * is the status of a device. `csv`, `ndjson`: rows.
   */
  readonly form: 'service' | 'series' | 'status' | 'csv' | 'ndjson'
  readonly from: number
  readonly to: number
  readonly now: number
  /** Asks for points, at most `limit` of each series. Without `limit`, as many as the limits of an answer allow. */
  readonly raw?: { readonly limit: number | undefined; readonly isDescending: boolean }
  readonly buckets?: QueriedBuckets
}

/** A query of one property of many devices. */
export interface FleetAggregateQuery {
  readonly tenant: string
  /** The names of the devices, one on each line. */
  readonly devices: string
  readonly service: string
  readonly propId: number
  readonly aggregate: AggregateName
  readonly across: AcrossName
  readonly interval: number
  readonly zone: string
  readonly from: number
  readonly to: number
  readonly now: number
}

export interface QueryFault {
  readonly path: string
  readonly message: string
}

/** The answer as JSON, CSV or NDJSON in UTF-8, or the faults of the query, or `unknown` if the service is unknown. */
export type HistoryAnswer =
  | {
      readonly pieces: readonly Uint8Array<ArrayBuffer>[]
      /** Where the next page begins, if there is one. */
      readonly next?: { readonly from: number; readonly to: number }
    }
  | { readonly faults: readonly QueryFault[] }
  | 'unknown'

/** The times from which on points, summaries of hours, and summaries of days are kept. */
export interface Retained {
  readonly rawFrom: number
  readonly hoursFrom: number
  readonly daysFrom: number
}

/** One series of the answer. */
export interface AskedSeries extends QueriedProperty {
  readonly device: string
  readonly service: string
  /** Undefined if the property has no history yet. */
  readonly id: number | undefined
  /** Whether the query named this property. */
  readonly isNamed: boolean
}
