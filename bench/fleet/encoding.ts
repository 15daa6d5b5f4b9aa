/**
 * How a value carries the number of its change.
 *
 * Each change of a device has a number: 1, 2, 3 … (`frames.ts`). The value is a pure function of the property, the
 * device and that number: a reader can derive the change from the value, and check the value.
 *
 * *Wide* types carry the entire number (FLOAT: tenths in the range of the property, and the number in the eight digits
 * after them, so 21.300000042 is 21.3 and change 42). *Narrow* types carry a remainder; they are checked against the
 * number of a wide value in the same frame.
 */
export type PropertyType = keyof typeof encodings

/** The value of a change instead of one that carries its number: nothing can be checked by it. */
export type ValueModel = (number: number, deviceIndex: number) => DeviceValue

export interface SimulatedProperty {
  readonly propId: number
  readonly name: string
  readonly description: string
  readonly type: PropertyType
  readonly unit?: string
  /** Plausible range of a measured value, whole numbers, `low` ≥ 0. */
  readonly low: number
  readonly high: number
  /** Names of the values 0, 1, 2 … */
  readonly enumeration?: readonly string[]
  /** Only sent in HELLO, and never changed. */
  readonly isConstant?: true
  /** Accepts WRITEs; its values carry no number. Absent: read-only. */
  readonly order?: 'writable' | 'actionable'
  readonly model?: ValueModel
}

/** In memory, before it is encoded for a protocol. */
export type DeviceValue = number | bigint | boolean | string | Uint8Array | readonly number[]

/** In JSON, in frames and in events (contract 3.8). */
export type JsonValue = number | boolean | string | readonly number[]

const floatScale = 1e9
const numbersPerTenth = 1e8
const beyondDouble = 2n ** 53n
const datetimeBase = 1_700_000_000_000
const uuidHead = '3d5c1b7e-90aa-4f1c-8d2e-'

interface Encoding {
  encode(number: number, property: SimulatedProperty, deviceIndex: number): DeviceValue
  /** The number in a value of an event; NaN for other values. Only for wide types. */
  decode?(value: unknown): number
}

const float = {
  encode: measured,
  decode: (value: unknown) => (typeof value === 'number' ? Math.round(value * floatScale) % numbersPerTenth : NaN),
}
const counter: Encoding = { encode: (number) => number, decode: Number }
const integerIn = (value: unknown) => BigInt(/^-?\d+$/.test(String(value)) ? String(value) : 0)

const encodings = {
  FLOAT: float,
  FLOAT64: float,
  'FLOAT-ARRAY': {
    encode: (number, property, device) => [0, 1, 2].map((phase) => measured(number, property, device + phase)),
    decode: (value) => (Array.isArray(value) ? float.decode(value[0]) : NaN),
  },
  UINT32: counter,
  INT32: counter,
  UINT64: {
    encode: (number) => beyondDouble + BigInt(number),
    decode: (value) => Number(integerIn(value) - beyondDouble),
  },
  INT64: {
    encode: (number) => -beyondDouble - BigInt(number),
    decode: (value) => Number(-integerIn(value) - beyondDouble),
  },
  DATETIME: { encode: (number) => datetimeBase + number, decode: (value) => Number(value) - datetimeBase },
  STRING: {
    encode: (number) => `${number % 5 === 0 ? 'self test passed' : 'ok'} #${number}`,
    decode: (value) => Number(String(value).split('#').at(-1)),
  },
  UUID: {
    encode: (number) => uuidHead + number.toString(16).padStart(12, '0'),
    decode: (value) => Number.parseInt(String(value).slice(uuidHead.length), 16),
  },
  BINARY: {
    encode(number) {
      const bytes = Buffer.alloc(8)
      bytes.writeBigUInt64BE(BigInt(number))
      return bytes
    },
    decode(value) {
      const bytes = Buffer.from(String(value), 'base64')
      return bytes.length === 8 ? Number(bytes.readBigUInt64BE()) : NaN
    },
  },
  UINT8: { encode: (number, { enumeration, unit }) => number % (enumeration?.length ?? (unit === '%' ? 101 : 256)) },
  INT8: { encode: (number) => (number % 256) - 128 },
  UINT16: { encode: (number, { low, high }) => low + (number % (high - low + 1)) },
  INT16: { encode: (number) => (number % 2_001) - 1_000 },
  BOOL: { encode: (number) => number % 2 === 1 },
} satisfies Readonly<Record<string, Encoding>>

const encodingOf = ({ type }: SimulatedProperty): Encoding => encodings[type]

export function isWide(property: SimulatedProperty): boolean {
  return encodingOf(property).decode !== undefined && !property.isConstant && property.order === undefined
}

export function encodeChange(property: SimulatedProperty, deviceIndex: number, number: number): DeviceValue {
  if (property.model) return property.model(number, deviceIndex)
  if (property.isConstant) return `SN-${String(deviceIndex).padStart(8, '0')}`
  return encodingOf(property).encode(number, property, deviceIndex)
}

/** A FLOAT above or below the middle of its range that carries the number. */
export function encodeCrossing({ low, high }: SimulatedProperty, isAbove: boolean, number: number): DeviceValue {
  return ((isAbove ? high : low) * 10 * numbersPerTenth + number) / floatScale
}

/** The number in a value of an event; undefined if the property is not wide or the value carries none. */
export function decodeChange(property: SimulatedProperty, value: unknown): number | undefined {
  const number = isWide(property) ? encodingOf(property).decode?.(value) : undefined
  return number !== undefined && Number.isSafeInteger(number) && number > 0 ? number : undefined
}

/** Integers beyond ±(2⁵³−1) are decimal strings, BINARY is base64 (contract 3.8). */
export function jsonForm(value: DeviceValue): JsonValue {
  if (typeof value === 'bigint') return value.toString()
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  return value
}

/** A triangle wave through the range in steps of a tenth, shifted by device and property, that carries the number. */
function measured(number: number, { low, high, propId }: SimulatedProperty, deviceIndex: number): number {
  const tenths = (high - low) * 10
  const place = (Math.floor(number / 8) + deviceIndex * 37 + propId * 11) % (2 * tenths)
  const wave = low * 10 + (place < tenths ? place : 2 * tenths - place)
  return (wave * numbersPerTenth + number) / floatScale
}
