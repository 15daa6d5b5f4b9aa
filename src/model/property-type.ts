import { z } from 'zod'
import { isUuidShaped, timestampMsMax } from '#model/identifier'
import { utf8BytesOf } from '#model/text'

/**
 * The data types of properties: a table with one rule for each, which converts an external value to its one JSON form
 * or refuses it. §2.2, §2.4, contract 3.8.
 *
 * `accept` is idempotent, and its result survives JSON unchanged. It never throws, for any input.
 */

/** The normal form of a value: stored, sent in events and returned by the API. */
export type PropertyValue = number | string | boolean | readonly (number | string | boolean)[]

/** One check of the whole value: with a union, each invalid element of an array costs 5 µs. */
export const PropertyValue = z
  .unknown()
  .refine(
    (value) => (Array.isArray(value) ? value.every(isScalar) : isScalar(value)),
    'must be a number, a string or a boolean, or an array of them',
  ) as unknown as z.ZodType<PropertyValue>

function isScalar(value: unknown): value is Scalar {
  return typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value)
}

export interface PropertyType {
  /** The name in schemas: lower case, `uint8`, `uint8-array`. */
  readonly name: string
  /** The name in the service API: upper case, `UINT8`, `UINT8-ARRAY`. */
  readonly wireName: string
  readonly isArray: boolean
  /** The completion of "must be …" for a value of this type: "an integer from 0 to 255". */
  readonly text: string
  /** The normal form, or undefined if the value is not of this type. */
  accept(value: unknown): PropertyValue | undefined
}

/**
 * The limit for one value, 64 KiB, contract 3.11: a STRING counts in UTF-8, a BINARY its bytes, an array its JSON text.
 */
export const valueBytesMax = 65_536

/** The largest finite single-precision number, IEEE 754: (2 − 2⁻²³) · 2¹²⁷. */
export const float32Max = 3.4028234663852886e38

/** Every element takes at least a comma and a digit. */
const arrayElementsMax = valueBytesMax / 2

/** Maximum JSON length of a number or boolean with its comma. The longest number is `-1.7976931348623157e+308`. */
const numberJsonBytesMax = 25
/** Maximum JSON length of a text with its quotes and comma; a control character is the longest: `\u0001`. */
const textJsonBytesMax = (text: string): number => 3 + 6 * text.length

/** Enough for −2⁶³ and 2⁶⁴−1. It prevents parsing a megabyte of digits. */
const decimalPattern = /^-?[0-9]{1,20}$/

/**
 * RFC 4648 §4 with padding; the last digit before it has its unused bits zero (§3.5). The length is checked separately.
 */
const base64Pattern = /^[A-Za-z0-9+/]*(?:[AQgw]==|[AEIMQUYcgkosw048]=)?$/

type Scalar = number | string | boolean
type Accept<T extends Scalar = Scalar> = (value: unknown) => T | undefined

const scalars: Readonly<Record<string, readonly [accept: Accept, text: string, texts: string]>> = {
  uint8: integer(0, 255),
  uint16: integer(0, 65_535),
  uint32: integer(0, 4_294_967_295),
  uint64: integer64(0n, 2n ** 64n - 1n),
  int8: integer(-128, 127),
  int16: integer(-32_768, 32_767),
  int32: integer(-2_147_483_648, 2_147_483_647),
  int64: integer64(-(2n ** 63n), 2n ** 63n - 1n),
  bool: [acceptBool, 'true or false', 'of true or false'],
  uuid: [acceptUuid, 'a UUID', 'of UUIDs'],
  float: [acceptFloat, 'a finite single-precision number', 'of finite single-precision numbers'],
  float64: [acceptFloat64, 'a finite number', 'of finite numbers'],
  datetime: [
    integer(-timestampMsMax, timestampMsMax)[0],
    'a time as an integer of Unix milliseconds',
    'of times as integers of Unix milliseconds',
  ],
  string: [acceptString, 'a text of at most 65536 bytes', 'of texts'],
  binary: [acceptBinary, 'padded base64 of at most 65536 bytes', 'of base64'],
}

/** Every type by its lower-case name. */
export const propertyTypes: ReadonlyMap<string, PropertyType> = new Map(
  Object.entries(scalars)
    .flatMap(([name, [accept, text, texts]]) => {
      const scalar = typeOf(name, false, text, accept)
      if (name === 'binary') return [scalar]
      return [scalar, typeOf(`${name}-array`, true, `an array ${texts}, at most 65536 bytes as JSON`, array(accept))]
    })
    .map((type) => [type.name, type]),
)

/** The types by both spellings in use, so that a lookup builds no string. */
const byEitherName = new Map(
  [...propertyTypes.values()].flatMap((type) => [[type.name, type] as const, [type.wireName, type] as const]),
)

/** The type of a name in any case, or undefined if there is none. */
export function propertyTypeOf(name: string): PropertyType | undefined {
  return byEitherName.get(name) ?? byEitherName.get(name.toLowerCase())
}

function typeOf(name: string, isArray: boolean, text: string, accept: PropertyType['accept']): PropertyType {
  return Object.freeze({ name, wireName: name.toUpperCase(), isArray, text, accept })
}

/** Adding 0 converts −0, which JSON can't represent, to 0. Big integers come from msgpack's 64-bit forms. */
function integer(min: number, max: number): readonly [Accept<number>, string, string] {
  const accept = (value: unknown): number | undefined => {
    if (typeof value === 'number') {
      return value >= min && value <= max && Number.isInteger(value) ? value + 0 : undefined
    }
    return typeof value === 'bigint' && value >= min && value <= max ? Number(value) : undefined
  }
  return [accept, `an integer from ${min} to ${max}`, `of integers from ${min} to ${max}`]
}

/** A number beyond ±(2⁵³−1) has already lost digits, so only texts and big integers may be that large. */
function integer64(min: bigint, max: bigint): readonly [Accept<number | string>, string, string] {
  const acceptBig = (value: bigint): number | string | undefined => {
    if (value < min || value > max) return undefined
    const asNumber = Number(value)
    return Number.isSafeInteger(asNumber) ? asNumber : value.toString()
  }
  const isSigned = min < 0n
  const acceptNumber = (value: number): number | undefined =>
    Number.isSafeInteger(value) && (isSigned || value >= 0) ? value + 0 : undefined
  const acceptText = (text: string): number | string | undefined => {
    if (!decimalPattern.test(text)) return undefined
    // A BigInt costs ten times as much as a number.
    return Number.isSafeInteger(Number(text)) ? acceptNumber(Number(text)) : acceptBig(BigInt(text))
  }
  const accept = (value: unknown): number | string | undefined => {
    if (typeof value === 'number') return acceptNumber(value)
    if (typeof value === 'bigint') return acceptBig(value)
    return typeof value === 'string' ? acceptText(value) : undefined
  }
  const note = 'beyond 9007199254740991 as decimal text'
  return [accept, `an integer from ${min} to ${max}, ${note}`, `of integers from ${min} to ${max}, ${note}`]
}

function acceptBool(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined
}

function acceptFloat(value: unknown): number | undefined {
  return typeof value === 'number' && value >= -float32Max && value <= float32Max ? value + 0 : undefined
}

function acceptFloat64(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value + 0 : undefined
}

function acceptUuid(value: unknown): string | undefined {
  return typeof value === 'string' && isUuidShaped(value) ? value.toLowerCase() : undefined
}

/** A UTF-16 unit takes at most three bytes in UTF-8, so the length alone decides for most texts. */
function acceptString(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > valueBytesMax || !value.isWellFormed()) return undefined
  return value.length * 3 <= valueBytesMax || utf8BytesOf(value) <= valueBytesMax ? value : undefined
}

function acceptBinary(value: unknown): string | undefined {
  if (typeof value === 'string') return isBase64(value) ? value : undefined
  if (!(value instanceof Uint8Array) || value.byteLength > valueBytesMax) return undefined
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64')
}

function isBase64(text: string): boolean {
  if (text.length % 4 !== 0) return false
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  return (text.length / 4) * 3 - padding <= valueBytesMax && base64Pattern.test(text)
}

/** Accepts arrays. The result is a copy, because a list that grew reserves up to half as much memory again. */
function array(accept: Accept): (value: unknown) => readonly Scalar[] | undefined {
  return (value) => {
    if (!Array.isArray(value) || value.length > arrayElementsMax) return undefined
    const elements: Scalar[] = []
    let bytesMax = 2
    for (let index = 0; index < value.length; index++) {
      const element = accept(value[index])
      if (element === undefined) return undefined
      elements.push(element)
      bytesMax += typeof element === 'string' ? textJsonBytesMax(element) : numberJsonBytesMax
    }
    const isShort = bytesMax <= valueBytesMax || utf8BytesOf(JSON.stringify(elements)) <= valueBytesMax
    return isShort ? elements.slice() : undefined
  }
}
