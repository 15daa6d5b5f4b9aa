import { itemTexts, quote, removedText, startsOf } from '#events/property-text'
import type { Declared, RemovedProperty, Reported, Undeclared } from '#model/entry'
import type { Shape } from '#model/shape'

/** Whether an item need not be said. `isRemoval`: it says that the property is gone. */
export type IsLeftOut = (propId: number, isRemoval: boolean) => boolean

/**
 * OBJECT_UPDATED, the event there are millions of: the fields after `offset`, items in the device's order. §6.
 * With `isLeftOut`: without those items; undefined when that leaves none of them.
 */
export function objectUpdated(entry: Reported | Declared | Undeclared): string
export function objectUpdated(entry: Reported | Declared | Undeclared, isLeftOut: IsLeftOut): string | undefined
export function objectUpdated(entry: Reported | Declared | Undeclared, isLeftOut?: IsLeftOut): string | undefined {
  const service = entry.kind === 'undeclared' ? entry.service : entry.shape.serviceIdentifier
  const said =
    entry.kind === 'undeclared'
      ? ''
      : itemTexts(entry.shape, entry.items, isLeftOut && ((propId) => isLeftOut(propId, false)))
  const removed = entry.kind === 'reported' ? '' : removedTexts(entry.removed, isLeftOut)
  const items = said === '' || removed === '' ? said + removed : `${said},${removed}`
  if (isLeftOut && items === '') return undefined
  return `,"flakeAddress":${entry.flakeAddress},"deviceIdentifier":${quote(entry.device)},"serviceIdentifier":${quote(service)},"updates":[${items}]`
}

function removedTexts(removed: readonly RemovedProperty[], isLeftOut?: IsLeftOut): string {
  return removed
    .filter(({ propId }) => !isLeftOut?.(propId, true))
    .map(removedText)
    .join(',')
}

/**
 * OBJECT_UPDATED of a report as UTF-8, the same to the byte as its text (`wire.ts`; a property test compares the two).
 *
 * Parts that a fleet shares are encoded once, numbers are written digit by digit: no string is built, flattened, measured
 * and copied, which is most of what an event costs. Undefined for reports that hold more than numbers: they go as text.
 *
 * One buffer serves them all: the bytes are only valid until the next call.
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
  /** From behind the device's name up to the first item. */
  readonly service: Uint8Array
  /** By property, up to its value. */
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

/** Everything but names, service and items. */
const headBytesMax = 256
/** The longest a double is as text, −1.2345678901234567e−300, with a comma and a brace. */
const numberBytesMax = 32
/** Above it nothing is kept: such events are rare. */
const viewsMax = 8_192

/** A longer one goes as text: the buffer stays for ever. */
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

/** False when it holds what JSON escapes, or is not ASCII. */
function putName(name: string): boolean {
  for (let index = 0; index < name.length; index++) {
    const unit = name.charCodeAt(index)
    if (unit < 0x20 || unit > 0x7e || unit === quotationMark || unit === backslash) return false
    bytes[end++] = unit
  }
  return true
}

/** Up to 2⁵³ − 1. */
function putNatural(value: number): void {
  if (value <= 0x7fffffff) {
    putDigits(value, digitsOf(value))
    return
  }
  const high = Math.floor(value / 1e9)
  putDigits(high, digitsOf(high))
  putDigits(value - high * 1e9, 9)
}

/** So many of them, the last ones. */
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
 * As JSON has it. Digit by digit where that is certain; not by `String`, whose texts V8 keeps for a while: they live long
 * enough to be collected with all that is old, which held up everything for some 25 ms each second.
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
  // Fifteen digits at most: no others say this number in fewer.
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
