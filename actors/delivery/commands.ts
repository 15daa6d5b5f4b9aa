import type { DeliveryRequest } from '#model/delivery'

/** What the requests of a function can be told. */
export type DeliveryCommand = AddRequest | CountOverflow | TrimRequests | ForgetRequests

/** Told by the device that it happened to. */
export interface AddRequest {
  readonly type: 'request'
  readonly request: Omit<DeliveryRequest, 'seq'>
}

/** So many more came than are kept. */
export interface CountOverflow {
  readonly type: 'overflowed'
  readonly count: number
}

/** Nobody needs those up to this one. */
export interface TrimRequests {
  readonly type: 'trim'
  readonly to: number
}

/** The function is no more. */
interface ForgetRequests {
  readonly type: 'forget'
}
