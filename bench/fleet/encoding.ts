/**
 * How a change is written into a value, and read back out of it.
 *
 * Every change that a device sends has a number: 1 for its first, 2 for the next, and so on (`frames.ts`). The value
 * that carries change `number` is a pure function of the property, the device and that number, so whoever hears a value
 * can tell which change it was and whether it arrived unharmed.
 *
 * - *Wide* types hold the whole number, so no two changes of a device look alike:
 *   FLOAT, FLOAT64: tenths that wander through the property's plausible range; the eight digits after them, counted in
 *   10⁻⁹, are the number (21.300000042 is 21.3 and change 42). FLOAT-ARRAY: three of these, all with the same number.
 *   UINT32, INT32: the number. UINT64: 2⁵³ + number. INT64: −2⁵³ − number (both beyond what a double holds, on purpose).
 *   DATETIME: 1 700 000 000 000 ms + number. STRING: ends in `#number`. UUID: its last 12 hex digits.
 *   BINARY: 8 bytes, big endian.
 * - *Narrow* types hold only a remainder: UINT8 INT8 UINT16 INT16 BOOL, and enumerations. They are checked against the
 *   number that the wide value in front of them in the same frame tells.
 */
export type PropertyType =
  | 'UINT8'
  | 'UINT16'
  | 'UINT32'
  | 'UINT64'
  | 'INT8'
  | 'INT16'
  | 'INT32'
  | 'INT64'
  | 'BOOL'
  | 'UUID'
  | 'FLOAT'
  | 'FLOAT64'
  | 'DATETIME'
  | 'STRING'
  | 'BINARY'
  | 'FLOAT-ARRAY'

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
  /** Said once, in HELLO, and never changed. */
  readonly isConstant?: true
  /** Takes WRITEs; it is said when it was written, and its values carry no number. Else read-only. */
  readonly order?: 'writable' | 'actionable'
}

/** What a device holds in memory, before a protocol writes it down. */
export type DeviceValue = number | bigint | boolean | string | Uint8Array | readonly number[]

/** As JSON has it, in frames and in events alike (contract 3.8). */
export type JsonValue = number | boolean | string | readonly number[]

const floatScale = 1e9
const numbersPerTenth = 1e8
const beyondDouble = 2n ** 53n
const datetimeBase = 1_700_000_000_000
const uuidHead = '3d5c1b7e-90aa-4f1c-8d2e-'

const wideTypes: ReadonlySet<PropertyType> = new Set<PropertyType>([
  'UINT32',
  'UINT64',
  'INT32',
  'INT64',
  'UUID',
  'FLOAT',
  'FLOAT64',
  'DATETIME',
  'STRING',
  'BINARY',
  'FLOAT-ARRAY',
])

export function isWide(property: SimulatedProperty): boolean {
  return wideTypes.has(property.type) && !property.isConstant && property.order === undefined
}

export function encodeChange(property: SimulatedProperty, deviceIndex: number, number: number): DeviceValue {
  if (property.isConstant) return `SN-${String(deviceIndex).padStart(8, '0')}`
  switch (property.type) {
    case 'FLOAT':
    case 'FLOAT64':
      return measured(property, deviceIndex, number)
    case 'FLOAT-ARRAY':
      return [0, 1, 2].map((phase) => measured(property, deviceIndex + phase, number))
    case 'UINT32':
    case 'INT32':
      return number
    case 'UINT64':
      return beyondDouble + BigInt(number)
    case 'INT64':
      return -beyondDouble - BigInt(number)
    case 'DATETIME':
      return datetimeBase + number
    case 'STRING':
      return `${number % 5 === 0 ? 'self test passed' : 'ok'} #${number}`
    case 'UUID':
      return uuidHead + number.toString(16).padStart(12, '0')
    case 'BINARY': {
      const bytes = Buffer.alloc(8)
      bytes.writeBigUInt64BE(BigInt(number))
      return bytes
    }
    case 'UINT8':
      return property.enumeration ? number % property.enumeration.length : number % (property.unit === '%' ? 101 : 256)
    case 'INT8':
      return (number % 256) - 128
    case 'UINT16':
      return property.low + (number % (property.high - property.low + 1))
    case 'INT16':
      return (number % 2_001) - 1_000
    case 'BOOL':
      return number % 2 === 1
  }
}

/** A FLOAT on this or that side of the middle of its range, and the number behind it. */
export function encodeCrossing({ low, high }: SimulatedProperty, isAbove: boolean, number: number): DeviceValue {
  return ((isAbove ? high : low) * 10 * numbersPerTenth + number) / floatScale
}

/** The number in a value as events show it; `undefined` when it is no value of a wide property. */
export function decodeChange(property: SimulatedProperty, value: unknown): number | undefined {
  const number = isWide(property) ? readNumber(property.type, value) : undefined
  return number !== undefined && Number.isSafeInteger(number) && number > 0 ? number : undefined
}

/** 64-bit beyond ±(2⁵³−1) as decimal strings, BINARY as base64 (contract 3.8). */
export function jsonForm(value: DeviceValue): JsonValue {
  if (typeof value === 'bigint') return value.toString()
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  return value
}

export function isSameValue(expected: JsonValue, heard: unknown): boolean {
  if (typeof expected !== 'object') return expected === heard
  return (
    Array.isArray(heard) && heard.length === expected.length && expected.every((item, index) => item === heard[index])
  )
}

/** A triangle wave through the range in steps of a tenth, shifted by device and property, and the number behind it. */
function measured(property: SimulatedProperty, deviceIndex: number, number: number): number {
  const tenths = (property.high - property.low) * 10
  const place = (Math.floor(number / 8) + deviceIndex * 37 + property.propId * 11) % (2 * tenths)
  const wave = property.low * 10 + (place < tenths ? place : 2 * tenths - place)
  return (wave * numbersPerTenth + number) / floatScale
}

function readNumber(type: PropertyType, value: unknown): number | undefined {
  switch (type) {
    case 'FLOAT-ARRAY':
      return Array.isArray(value) ? readNumber('FLOAT', value[0]) : undefined
    case 'FLOAT':
    case 'FLOAT64':
      return typeof value === 'number' ? Math.round(value * floatScale) % numbersPerTenth : undefined
    case 'UINT32':
    case 'INT32':
      return typeof value === 'number' ? value : undefined
    case 'DATETIME':
      return typeof value === 'number' ? value - datetimeBase : undefined
    default:
      return typeof value === 'string' ? readText(type, value) : undefined
  }
}

function readText(type: PropertyType, value: string): number | undefined {
  switch (type) {
    case 'UINT64':
      return /^\d+$/.test(value) ? Number(BigInt(value) - beyondDouble) : undefined
    case 'INT64':
      return /^-\d+$/.test(value) ? Number(-BigInt(value) - beyondDouble) : undefined
    case 'STRING':
      return Number(value.slice(value.lastIndexOf('#') + 1))
    case 'UUID':
      return value.startsWith(uuidHead) ? Number.parseInt(value.slice(uuidHead.length), 16) : undefined
    case 'BINARY': {
      const bytes = Buffer.from(value, 'base64')
      return bytes.length === 8 ? Number(bytes.readBigUInt64BE()) : undefined
    }
    default:
      return undefined
  }
}
