import type { DeliveryHead, DeliveryRequest } from '#model/delivery'
import type { StoredWebhook, WebhookAnswer, WebhookResult } from '#model/webhook'
import type { ActorAddress } from '#runtime/actor'

/** The mail requests and webhooks of one function, and the latest results of webhooks. */
export interface DeliveryState {
  readonly tenant: string
  readonly function: string
  head: DeliveryHead
  /** By `seq`, ascending. */
  readonly requests: Map<number, DeliveryRequest>
  /**
   * Waiting webhooks by id, in any order. They are not numbered, because digests count the numbers of mail requests.
   */
  readonly webhooks: Map<string, StoredWebhook>
  /** The results of the latest webhooks, by id. */
  readonly results: Map<string, WebhookResult>
}

// Record names: `head`, and a prefix with the number of a request, or with the id of a waiting webhook or of a result.
export const headRecord = 'head'
export const requestPrefix = 'request/'

export const webhookPrefix = 'webhook/'
export const resultPrefix = 'webhook_result/'

/** Padded, so that record names sort by number. */
export function requestRecord(seq: number): string {
  return `${requestPrefix}${String(seq).padStart(16, '0')}`
}

/** The mail requests and webhooks of one function. */
export function deliveryAddress(tenant: string, fn: string): ActorAddress<DeliveryState, DeliveryCommand> {
  return { kind: 'delivery', tenant, id: fn }
}

/**
 * Functions with waiting webhooks, or with mail requests that some subscriber may not have processed: entries
 * `<functionId>`.
 */
export const deliveringIndex = 'delivering'

export type DeliveryCommand =
  | AddRequest
  | CountOverflow
  | TrimRequests
  | AddWebhook
  | WebhookTried
  | WebhookEnded
  | WebhooksDropped
  | ForgetRequests

/** Sent by the device on which the function ran. */
export interface AddRequest {
  readonly type: 'request'
  readonly request: Omit<DeliveryRequest, 'seq'>
}

/** Mail requests beyond the rate: they are only counted, and not stored. */
export interface CountOverflow {
  readonly type: 'overflowed'
  readonly count: number
}

/** All subscribers have processed the requests up to `to`. */
export interface TrimRequests {
  readonly type: 'trim'
  readonly to: number
}

/** Sent by the device on which the function ran. */
export interface AddWebhook {
  readonly type: 'webhook'
  readonly request: Pick<StoredWebhook, 'at' | 'device' | 'node' | 'value' | 'previous' | 'cause'>
}

/** An attempt failed; there will be another attempt. */
export interface WebhookTried {
  readonly type: 'webhook_tried'
  readonly id: string
  readonly result: WebhookAnswer
  readonly nextAt: number
}

export interface WebhookEnded extends Pick<WebhookResult, 'id' | 'status' | 'result'> {
  readonly type: 'webhook_ended'
  /** Whether the webhook ended with one more attempt, which `attempts` does not count yet. */
  readonly isTried: boolean
}

/** Webhooks beyond the rate, which are not stored. */
export interface WebhooksDropped {
  readonly type: 'webhooks_dropped'
  readonly node: string
  readonly count: number
}

/** The function was deleted. */
interface ForgetRequests {
  readonly type: 'forget'
}
