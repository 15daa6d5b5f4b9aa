import type { DeliveryHead, DeliveryRequest } from '#model/delivery'
import type { ActorAddress } from '#runtime/actor'

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

/** The mail requests of one function. */
export function deliveryAddress(tenant: string, fn: string): ActorAddress<DeliveryState, DeliveryCommand> {
  return { kind: 'delivery', tenant, id: fn }
}

/** Functions with stored requests: entries `<functionId>`. */
export const deliveringIndex = 'delivering'

/** Commands of the mail requests of one function. */
export type DeliveryCommand = AddRequest | CountOverflow | TrimRequests | ForgetRequests

/** Sent by the device on which the function ran. */
export interface AddRequest {
  readonly type: 'request'
  readonly request: Omit<DeliveryRequest, 'seq'>
}

/** Number of requests beyond the rate, which are counted and not stored. */
export interface CountOverflow {
  readonly type: 'overflowed'
  readonly count: number
}

/** All subscribers are past this request. */
export interface TrimRequests {
  readonly type: 'trim'
  readonly to: number
}

/** The function was deleted. */
interface ForgetRequests {
  readonly type: 'forget'
}
