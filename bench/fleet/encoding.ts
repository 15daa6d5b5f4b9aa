export type PropertyType = keyof typeof values

/** The value of the n-th change of a device. */
export type ValueModel = (number: number, deviceIndex: number) => DeviceValue

export interface SimulatedProperty {
  readonly propId: number
  readonly name: string
  readonly description: string
  readonly type: PropertyType
  readonly unit?: string
  /** Plausible range of a measured value. */
  readonly low: number
  readonly high: number
  /** Names of the values 0, 1, 2 … */
  readonly enumeration?: readonly string[]
  /** Only sent in HELLO, and never changed. */
  readonly isConstant?: true
  /** Accepts WRITEs. Absent: read-only. */
  readonly order?: 'writable' | 'actionable'
  /** Instead of the values of its type. */
  readonly model?: ValueModel
}

/** In memory, before it is encoded for a protocol. */
export type DeviceValue = number | bigint | boolean | string | Uint8Array | readonly number[]

/** In JSON, in frames and in events (contract 3.8). */
export type JsonValue = number | boolean | string | readonly number[]

const beyondDouble = 2n ** 53n
const datetimeBase = 1_700_000_000_000

type ValueOf = (number: number, property: SimulatedProperty, deviceIndex: number) => DeviceValue
const counter: ValueOf = (number) => number

const values = {
  FLOAT: measured,
  FLOAT64: measured,
  'FLOAT-ARRAY': (number, property, device) => [0, 1, 2].map((phase) => measured(number, property, device + phase)),
  UINT32: counter,
  INT32: counter,
  UINT64: (number) => beyondDouble + BigInt(number),
  INT64: (number) => -beyondDouble - BigInt(number),
  DATETIME: (number) => datetimeBase + number,
  STRING: (number) => (number % 5 === 0 ? 'self test passed' : `ok #${number}`),
  UUID: (number) => `3d5c1b7e-90aa-4f1c-8d2e-${number.toString(16).padStart(12, '0')}`,
  BINARY: (number) => Buffer.from(String(number).padStart(8, '0')),
  UINT8: (number, { enumeration, unit }) => number % (enumeration?.length ?? (unit === '%' ? 101 : 256)),
  INT8: (number) => (number % 256) - 128,
  UINT16: (number, { low, high }) => low + (number % (high - low + 1)),
  INT16: (number) => (number % 2_001) - 1_000,
  BOOL: (number) => number % 2 === 1,
} satisfies Readonly<Record<string, ValueOf>>

export function simulatedValue(property: SimulatedProperty, deviceIndex: number, number: number): DeviceValue {
  if (property.model) return property.model(number, deviceIndex)
  if (property.isConstant) return `SN-${String(deviceIndex).padStart(8, '0')}`
  return (values[property.type] as ValueOf)(number, property, deviceIndex)
}

/** Integers beyond ±(2⁵³−1) are decimal strings, BINARY is base64 (contract 3.8). */
export function jsonForm(value: DeviceValue): JsonValue {
  if (typeof value === 'bigint') return value.toString()
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  return value
}

/** A triangle wave through the range in steps of a tenth, shifted by device and property. */
function measured(number: number, { low, high, propId }: SimulatedProperty, deviceIndex: number): number {
  const tenths = (high - low) * 10
  const place = (Math.floor(number / 8) + deviceIndex * 37 + propId * 11) % (2 * tenths)
  return (low * 10 + (place < tenths ? place : 2 * tenths - place)) / 10
}
