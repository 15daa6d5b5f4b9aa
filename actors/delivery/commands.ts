import type { DeliveryRequest } from '#model/delivery'

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
