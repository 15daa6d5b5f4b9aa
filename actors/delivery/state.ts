import type { DeliveryHead, DeliveryRequest } from '#model/delivery'
import type { RecordFormat } from '#runtime/actor'

/** The requests of one function, those that are kept. */
export interface DeliveryState {
  readonly tenant: string
  readonly function: string
  head: DeliveryHead
  /** By `seq`, ascending. */
  readonly requests: Map<number, DeliveryRequest>
}

/** Names of records: `head`, and one for each request. */
export const headRecord = 'head'
export const requestPrefix = 'request/'

/** They sort as their numbers do. */
export function requestRecord(seq: number): string {
  return `${requestPrefix}${String(seq).padStart(16, '0')}`
}

export const deliveryFormats: Readonly<Record<string, RecordFormat>> = {
  [headRecord]: { name: 'head of requests', version: 1, upgrades: {} },
  [`${requestPrefix}*`]: { name: 'request', version: 1, upgrades: {} },
}
