import type { DeliveryCommand } from '#actors/delivery/commands'
import type { DeliveryHead, DeliveryRequest } from '#model/delivery'
import type { ActorAddress, RecordFormat } from '#runtime/actor'

/** The stored requests of one function. */
export interface DeliveryState {
  readonly tenant: string
  readonly function: string
  head: DeliveryHead
  /** By `seq`, ascending. */
  readonly requests: Map<number, DeliveryRequest>
}

/** Record names: `head`, and one for each request. */
export const headRecord = 'head'
export const requestPrefix = 'request/'

/** Padded, so that record names sort by number. */
export function requestRecord(seq: number): string {
  return `${requestPrefix}${String(seq).padStart(16, '0')}`
}

export const deliveryFormats: Readonly<Record<string, RecordFormat>> = {
  [headRecord]: { name: 'head of requests', version: 1, upgrades: {} },
  [`${requestPrefix}*`]: { name: 'request', version: 1, upgrades: {} },
}

/** The mail requests of one function. */
export function deliveryAddress(tenant: string, fn: string): ActorAddress<DeliveryState, DeliveryCommand> {
  return { kind: 'delivery', tenant, id: fn }
}

/** Functions with stored requests: entries `<functionId>`. */
export const deliveringIndex = 'delivering'
