import type { PropertyState } from '#model/entry'
import type { JsonValue } from '#model/json-value'

/** What a function asks to be told to people, before anybody knows to whom. Contract 5.7. */

/** How long a mail is tried, and a request kept at most. A day, in ms. */
export const requestAgeMsMax = 86_400_000

/** Of a value that travels with a request, in UTF-16 units: a subject and some lines. */
const keptCharactersMax = 1_024

/** Of an array that does. */
const keptElementsMax = 64

/** One `email` node that one happening led to. Times are Unix ms. */
export interface DeliveryRequest {
  /** Its place among the function's requests, from 1. */
  readonly seq: number
  readonly at: number
  readonly device: string
  /** The node and the template as they were then. */
  readonly node: string
  readonly template: string
  readonly value: JsonValue
  readonly previous: JsonValue
  readonly cause: DeliveryCause
}

/** By what trigger. `alarm`: its id. */
export type DeliveryCause =
  | { readonly on: 'property'; readonly service: string; readonly propId: number }
  | { readonly on: 'alarm'; readonly alarm: string }
  | { readonly on: 'status' }

/** How far the requests of a function have come. */
export interface DeliveryHead {
  /** The last one, kept or only counted; 0 before the first. */
  readonly seq: number
  /** Up to which nobody needs them any more. */
  readonly trimmed: number
  /** When the last one came, Unix ms. */
  readonly at: number
}

/** How many requests of a function are kept: whoever may get many mails an hour gets each of them. */
export function requestsKept(mailsPerHourMax: number): number {
  return Math.min(Math.max(2 * mailsPerHourMax, 256), 4_096)
}

/** Why somebody does not get a mail that was asked for. */
export const passReasons = [
  /** The function is gone or disabled, or no more bound to the device. */
  'unbound',
  /** The user is gone or may not sign in. */
  'disabled',
  /** He may not read what it tells, or not subscribe to it. */
  'forbidden',
  'no_address',
  'bad_address',
  /** His address refused several in a row. */
  'resting',
  'no_template',
  'too_large',
  /** The mail server refused it for good. */
  'rejected',
  /** Tried for a day. */
  'expired',
] as const
export type PassReason = (typeof passReasons)[number]

/** What of a value travels with a request. An error is no value. */
export function keptValue(value: PropertyState | boolean | string): JsonValue {
  if (typeof value === 'string') return keptText(value)
  if (Array.isArray(value)) {
    return value.slice(0, keptElementsMax).map((each) => (typeof each === 'string' ? keptText(each) : each))
  }
  return typeof value === 'object' ? null : value
}

/** Never half of a character. */
function keptText(text: string): string {
  if (text.length <= keptCharactersMax) return text
  const last = text.charCodeAt(keptCharactersMax - 1)
  const isHalf = last >= 0xd800 && last <= 0xdbff
  return text.slice(0, isHalf ? keptCharactersMax - 1 : keptCharactersMax)
}
