import type { PropertyState } from '#model/entry'
import type { JsonValue } from '#model/json-value'

/** Requests of functions to send mails, before their recipients are known. Contract 5.7. */

/** How long a mail is retried, and how long a request is stored. A day, in ms. */
export const requestAgeMsMax = 86_400_000

/** The longest text value in a request, in UTF-16 units: a subject and some lines. */
const storedCharactersMax = 1_024

/** Maximum number of stored elements of an array. One more stored element marks that the array was longer. */
const elementsMax = 64

/** The end of a text that was cut. */
const ellipsis = '…'

/** The result of a function run. */
export interface RunData {
  /** Unix ms. */
  readonly at: number
  readonly device: string
  readonly value: JsonValue
  readonly previous: JsonValue
  readonly cause: DeliveryCause
}

/** One event that reached one `email` node. */
export interface DeliveryRequest extends RunData {
  /** The number of the request among the function's requests, from 1. */
  readonly seq: number
  /** The node, and its template at that time. */
  readonly node: string
  readonly template: string
}

/** The trigger. `alarm`: the id of the alarm. */
export type DeliveryCause =
  | { readonly on: 'property'; readonly service: string; readonly propId: number }
  | { readonly on: 'alarm'; readonly alarm: string }
  | { readonly on: 'status' }

/** The progress of the requests of a function. */
export interface DeliveryHead {
  /** The number of the last request, stored or only counted; 0 before the first. */
  readonly seq: number
  /** Requests up to this one are no longer needed. */
  readonly trimmed: number
  /** The time of the last request, Unix ms. */
  readonly at: number
}

/**
 * Maximum number of stored requests of a function: enough that a user who may get many mails an hour gets each of them.
 */
export function storedRequestsMax(mailsPerHourMax: number): number {
  return Math.min(Math.max(2 * mailsPerHourMax, 256), 4_096)
}

/** Why a requested mail is not sent. */
export const skipReasons = [
  /** The function is deleted or disabled, or no longer bound to the device. */
  'unbound',
  /** The user is deleted, or cannot sign in. */
  'disabled',
  /** The user may not read the device, or not subscribe to the function. */
  'forbidden',
  'no_address',
  'bad_address',
  /** The address refused several mails in a row. */
  'resting',
  'no_template',
  'too_large',
  /** The mail server refused the mail permanently. */
  'rejected',
  /** The mail was retried for a day. */
  'expired',
] as const
export type SkipReason = (typeof skipReasons)[number]

/** The part of a value that is stored with a request, with a mark if it was cut; null for an error. */
export function storedValue(value: PropertyState | boolean | string): JsonValue {
  if (typeof value === 'string') return storedText(value)
  if (Array.isArray(value)) {
    return value.slice(0, elementsMax + 1).map((each) => (typeof each === 'string' ? storedText(each) : each))
  }
  return typeof value === 'object' ? null : value
}

/** Never cuts a character in half. */
function storedText(text: string): string {
  if (text.length <= storedCharactersMax) return text
  const keptMax = storedCharactersMax - ellipsis.length
  const last = text.charCodeAt(keptMax - 1)
  const isHalf = last >= 0xd800 && last <= 0xdbff
  return text.slice(0, isHalf ? keptMax - 1 : keptMax) + ellipsis
}

/** A stored value for people: a list that was cut ends with `…`. */
export function readableValue(value: JsonValue): JsonValue {
  return isCutList(value) ? [...value.slice(0, elementsMax), ellipsis] : value
}

/** A stored value for programs. `isCut`: the value, or one of its elements, was cut. */
export function plainValue(value: JsonValue): { readonly value: JsonValue; readonly isCut: boolean } {
  if (isCutList(value)) return { value: value.slice(0, elementsMax), isCut: true }
  const texts = Array.isArray(value) ? value : [value]
  return { value, isCut: texts.some(isCutText) }
}

function isCutList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value) && value.length > elementsMax
}

function isCutText(value: JsonValue): boolean {
  return typeof value === 'string' && value.length >= storedCharactersMax - 1 && value.endsWith(ellipsis)
}
