import {
  type Declared,
  type Items,
  isPropertyError,
  type PropertyState,
  type RemovedProperty,
  type Reported,
  type Undeclared,
} from '#model/entry'
import { modifierFlags, modifierOf } from '#model/modifier'
import { propertyTypeOf } from '#model/property-type'
import type { Shape, ShapeProperty } from '#model/shape'

/** Whether to omit an item. `isRemoval`: the item removes the property. */
export type IsOmitted = (propId: number, isRemoval: boolean) => boolean

/**
 * The fields after `offset` of OBJECT_UPDATED, the most frequent event, with the items in the device's order. §6. Items
 * for which `isOmitted` returns true are omitted; undefined if none are left.
 */
export function objectUpdated(entry: Reported | Declared | Undeclared): string
export function objectUpdated(entry: Reported | Declared | Undeclared, isOmitted: IsOmitted): string | undefined
export function objectUpdated(entry: Reported | Declared | Undeclared, isOmitted?: IsOmitted): string | undefined {
  const service = entry.kind === 'undeclared' ? entry.service : entry.shape.serviceIdentifier
  const updated =
    entry.kind === 'undeclared'
      ? ''
      : itemTexts(entry.shape, entry.items, isOmitted && ((propId) => isOmitted(propId, false)))
  const removed = entry.kind === 'reported' ? '' : removedTexts(entry.removed, isOmitted)
  const items = updated === '' || removed === '' ? updated + removed : `${updated},${removed}`
  if (isOmitted && items === '') return undefined
  return `,"flakeAddress":${entry.flakeAddress},"deviceIdentifier":${quote(entry.device)},"serviceIdentifier":${quote(service)},"updates":[${items}]`
}

function removedTexts(removed: readonly RemovedProperty[], isOmitted?: IsOmitted): string {
  return removed
    .filter(({ propId }) => !isOmitted?.(propId, true))
    .map(removedText)
    .join(',')
}

/**
 * OBJECT_UPDATED of a report as UTF-8, byte for byte the same as its text (`wire-format.ts`; a property test compares
 * them).
 *
 * Shared parts are encoded once and numbers are written digit by digit: building, flattening, measuring and copying a
 * string would be most of the cost of an event. Undefined if a value is not a number, if the name of the device is not
 * ASCII or needs escaping, or if the event may exceed `bytesMax`: such reports are encoded as text.
 *
 * There is one buffer: the bytes are only valid until the next call.
 */
export function reportedBytes(entry: Reported, offset: number): Uint8Array | undefined {
  const { device, shape, items } = entry
  const { service, starts } = partsOf(shape)
  let longest = headBytesMax + device.length + service.length
  for (let at = 0; at < items.length; at += 2) {
    if (typeof items[at + 1] !== 'number') return undefined
    longest += (starts[items[at] as number] as Uint8Array).length + numberBytesMax
  }
  if (longest > bytesMax) return undefined
  reserve(longest)
  end = 0
  put(type)
  putNumber(entry.timestamp)
  put(offsetField)
  putNatural(offset)
  put(addressField)
  putNatural(entry.flakeAddress)
  put(deviceField)
  if (!putName(device)) return undefined
  put(service)
  for (let at = 0; at < items.length; at += 2) {
    if (at > 0) bytes[end++] = comma
    put(starts[items[at] as number] as Uint8Array)
    putNumber(items[at + 1] as number)
    bytes[end++] = closingBrace
  }
  bytes[end++] = closingBracket
  bytes[end++] = closingBrace
  return viewOf(end)
}

interface ShapeParts {
  /** The bytes from the device's name to the first item. */
  readonly service: Uint8Array
  /** For each property, the bytes before its value. */
  readonly starts: readonly Uint8Array[]
}

const partsOfShapes = new WeakMap<Shape, ShapeParts>()

function partsOf(shape: Shape): ShapeParts {
  let parts = partsOfShapes.get(shape)
  if (!parts) {
    parts = {
      service: Buffer.from(`","serviceIdentifier":${JSON.stringify(shape.serviceIdentifier)},"updates":[`),
      starts: startsOf(shape).map((start) => Buffer.from(`${start},"value":`)),
    }
    partsOfShapes.set(shape, parts)
  }
  return parts
}

const type = Buffer.from('{"type":"OBJECT_UPDATED","timestamp":')
const offsetField = Buffer.from(',"offset":')
const addressField = Buffer.from(',"flakeAddress":')
const deviceField = Buffer.from(',"deviceIdentifier":"')
const quotationMark = 0x22
const comma = 0x2c
const minus = 0x2d
const point = 0x2e
const zero = 0x30
const backslash = 0x5c
const closingBracket = 0x5d
const closingBrace = 0x7d

/** Maximum size without names, service and items. */
const headBytesMax = 256
/** At least the longest text of a double, −1.2345678901234567e−300, with a comma and a brace. */
const numberBytesMax = 32
/** Longer views are not cached, because such events are rare. */
const viewsMax = 8_192

/** Longer events are encoded as text, because the buffer is never freed. */
const bytesMax = 512 * 1024

let bytes = new Uint8Array(64 * 1024)
let views: Uint8Array[] = []
let end = 0

function reserve(longest: number): void {
  if (longest <= bytes.length) return
  bytes = new Uint8Array(longest * 2)
  views = []
}

function viewOf(length: number): Uint8Array {
  const known = views[length]
  if (known) return known
  const view = bytes.subarray(0, length)
  if (length <= viewsMax) views[length] = view
  return view
}

function put(part: Uint8Array): void {
  bytes.set(part, end)
  end += part.length
}

/** False if the name needs escaping or is not ASCII. */
function putName(name: string): boolean {
  for (let index = 0; index < name.length; index++) {
    const unit = name.charCodeAt(index)
    if (unit < 0x20 || unit > 0x7e || unit === quotationMark || unit === backslash) return false
    bytes[end++] = unit
  }
  return true
}

/** Writes a natural number up to 2⁵³ − 1. */
function putNatural(value: number): void {
  if (value <= 0x7fffffff) {
    putDigits(value, digitsOf(value))
    return
  }
  const high = Math.floor(value / 1e9)
  putDigits(high, digitsOf(high))
  putDigits(value - high * 1e9, 9)
}

/** Writes the last digits of a number. */
function putDigits(value: number, digits: number): void {
  let rest = value
  end += digits
  for (let at = end - 1; at >= end - digits; at--) {
    const next = (rest / 10) | 0
    bytes[at] = zero + rest - next * 10
    rest = next
  }
}

function digitsOf(value: number): number {
  let digits = 1
  for (let power = 10; power <= value; power *= 10) digits++
  return digits
}

const decimals = 6
const decimalsScale = 10 ** decimals

/**
 * Writes a number as JSON, digit by digit where the result is exact. `String` is avoided, because V8 caches its results
 * for a while: their garbage collection blocked the process for about 25 ms each second.
 */
function putNumber(value: number): void {
  if (value >>> 0 === value) {
    putNatural(value)
    return
  }
  const size = Math.abs(value)
  if (Number.isSafeInteger(size)) {
    if (value < 0) bytes[end++] = minus
    putNatural(size)
    return
  }
  // With at most fifteen digits, no shorter text means the same number.
  const scaled = Math.round(size * decimalsScale)
  if (size < 1e9 && scaled / decimalsScale === size) {
    if (value < 0) bytes[end++] = minus
    const whole = Math.floor(size)
    putNatural(whole)
    bytes[end++] = point
    putDigits(scaled - whole * decimalsScale, decimals)
    while (bytes[end - 1] === zero) end--
    return
  }
  putText(JSON.stringify(value))
}

function putText(text: string): void {
  for (let index = 0; index < text.length; index++) bytes[end++] = text.charCodeAt(index)
}

/**
 * For each shape, the JSON texts of its properties before their values. §2.2, contract 3.8. Millions of properties are
 * sent, and this part is the same for all devices with the shape, so it is encoded once.
 */
const startsOfShapes = new WeakMap<Shape, readonly string[]>()

/** One property as JSON. `timestamp` is left out if it is 0, and is absent in events, which have their own time. */
export function propertyText(shape: Shape, index: number, state: PropertyState, timestamp?: number): string {
  const end = timestamp === undefined || timestamp === 0 ? '}' : `,"timestamp":${timestamp}}`
  return textOf(shape, startsOf(shape)[index] as string, index, state, end)
}

/** Properties of an event, in the order of the items, without omitted ones. */
function itemTexts(shape: Shape, items: Items, isOmitted?: (propId: number) => boolean): string {
  const starts = startsOf(shape)
  let texts = ''
  for (let at = 0; at < items.length; at += 2) {
    const index = items[at] as number
    if (isOmitted?.((shape.properties[index] as ShapeProperty).propId)) continue
    const text = textOf(shape, starts[index] as string, index, items[at + 1] as PropertyState, '}')
    texts = texts === '' ? text : `${texts},${text}`
  }
  return texts
}

function textOf(shape: Shape, start: string, index: number, state: PropertyState, end: string): string {
  if (typeof state === 'number') return `${start},"value":${state}${end}`
  if (state === null) return start + end
  if (isPropertyError(state)) {
    const property = shape.properties[index] as ShapeProperty
    return `${startOf(property, 'error', true)},"error":${JSON.stringify(state.error)}${end}`
  }
  return `${start},"value":${JSON.stringify(state)}${end}`
}

/** A property that is no longer declared. */
export function removedText({ propId, type, modifier }: RemovedProperty): string {
  const known = propertyTypeOf(type)
  if (!known) throw new Error(`${type} is not a data type`)
  return `${startOf({ propId, type: known, modifier }, 'removed', false)}}`
}

/** An identifier as JSON. Identifiers rarely need escaping, and the check is cheaper than `JSON.stringify`. */
export function quote(text: string): string {
  return text.includes('"') || text.includes('\\') ? JSON.stringify(text) : `"${text}"`
}

/** For each property, the text before its value. */
function startsOf(shape: Shape): readonly string[] {
  let starts = startsOfShapes.get(shape)
  if (!starts) {
    starts = shape.properties.map((property) => startOf(property, 'value', false))
    startsOfShapes.set(shape, starts)
  }
  return starts
}

/** The text before the value, without the closing brace. */
function startOf({ propId, type, modifier }: ShapeProperty, tag: string, isError: boolean): string {
  const isArray = type.isArray ? modifierFlags.isArray : 0
  const shown = (modifier & ~modifierFlags.isError) | isArray | (isError ? modifierFlags.isError : 0)
  return `{"tag":"${tag}","modifier":${JSON.stringify(modifierOf(shown))},"propId":${propId},"type":"${type.wireName}"`
}
