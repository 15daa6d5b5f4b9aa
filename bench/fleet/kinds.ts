/** The simulated devices: sensors, meters and pumps of a company, with plausible values. */

export type DeviceValue = number | boolean | string | readonly number[]

/** The value of the n-th change of a device. */
type ValueModel = (number: number, deviceIndex: number) => DeviceValue

export interface SimulatedProperty {
  readonly propId: number
  readonly name: string
  readonly description: string
  readonly type: string
  readonly unit?: string
  /** Names of the values 0, 1, 2 … */
  readonly enumeration?: readonly string[]
  /** Only sent in HELLO, and never changed. */
  readonly isConstant?: true
  /** Accepts WRITEs. Absent: read-only. */
  readonly order?: 'writable' | 'actionable'
  /** The least and the greatest value that the device accepts, or the two values that it alternates between. */
  readonly range?: readonly [low: number, high: number]
  /** How a reported property changes. */
  readonly model?: ValueModel
}

export interface SimulatedService {
  readonly serviceIdentifier: string
  readonly name: string
  readonly description: string
  readonly properties: readonly SimulatedProperty[]
}

/** A device with its measuring service first, its diagnostics second, then the optional services. */
export interface DeviceKind {
  readonly name: string
  readonly code: string
  readonly services: readonly SimulatedService[]
}

export const airService = 'de300001-7c1e-4b6d-9e3f-000000000001'
export const powerService = 'de300001-7c1e-4b6d-9e3f-000000000002'
export const pumpService = 'de300001-7c1e-4b6d-9e3f-000000000003'
const diagnosticsService = 'de300001-7c1e-4b6d-9e3f-000000000004'

export const propertyIds = {
  carbonDioxide: '0x2002',
  power: '0x2000',
  pumpState: '0x2004',
  pressure: '0x2002',
} as const

export const pumpStates = ['Stopped', 'Starting', 'Running', 'Fault'] as const

/** Changes are numbered from 1 in each run. This time lets clocks and energy counters continue after a restart. */
export const startedAt = Date.now()
/** A device of the demo sends two changes a second, at the default rate. */
const msPerChange = 500

/** The number of the change at a time; negative before this run. */
export function changeNumberAt(time: number): number {
  return Math.round((time - startedAt) / msPerChange)
}

type Details = Pick<SimulatedProperty, 'unit' | 'enumeration' | 'isConstant'>
type Row = readonly [name: string, type: string, model: ValueModel, details?: Details]

const air: readonly Row[] = [
  ['Temperature', 'FLOAT', wave(18, 26, 1), { unit: '°C' }],
  ['Humidity', 'FLOAT', wave(28, 62, 1), { unit: '%' }],
  ['Carbon dioxide', 'UINT16', wave(420, 1500, 0), { unit: 'ppm' }],
  ['Window open', 'BOOL', (number, device) => isExceptional(number, device, 9)],
  [
    'Battery',
    'UINT8',
    (number, device) => Math.round(100 - 60 * share(device, 5) - remainder(number, 20_000) / 1000),
    { unit: '%' },
  ],
]

const power: readonly Row[] = [
  ['Power', 'FLOAT64', wave(180, 6200, 0), { unit: 'W' }],
  [
    'Voltage',
    'FLOAT-ARRAY',
    (number, device) => [0, 1, 2].map((phase) => voltage(number, device + phase)),
    { unit: 'V' },
  ],
  ['Frequency', 'FLOAT', wave(49.96, 50.04, 2), { unit: 'Hz' }],
  ['Energy', 'FLOAT64', energy, { unit: 'kWh' }],
  ['Tariff', 'UINT8', (number) => remainder(Math.floor(number / 400), 2), { enumeration: ['Day', 'Night'] }],
]

const voltage = wave(226, 236, 1) as (number: number, device: number) => number

const pump: readonly Row[] = [
  ['Speed', 'FLOAT', whileRunning(wave(1400, 2900, 0)), { unit: 'rpm' }],
  ['Flow', 'FLOAT', whileRunning(wave(2, 14, 1)), { unit: 'm³/h' }],
  ['Pressure', 'FLOAT', wave(1.2, 4.8, 2), { unit: 'bar' }],
  ['Bearing temperature', 'FLOAT', wave(34, 71, 1), { unit: '°C' }],
  ['State', 'UINT8', pumpState, { enumeration: pumpStates }],
]

const diagnostics: readonly Row[] = [
  [
    'Uptime',
    'UINT64',
    (number, device) => Math.round(86_400 * (8 + 60 * share(device, 3)) + (number * msPerChange) / 1000),
    { unit: 's' },
  ],
  ['Clock', 'DATETIME', (number) => startedAt + number * msPerChange],
  ['Signal strength', 'INT16', wave(-86, -48, 0), { unit: 'dBm' }],
  ['Serial number', 'STRING', (_, device) => `SN-${String(device).padStart(8, '0')}`, { isConstant: true }],
]

const diagnosticsOfAll = service(diagnosticsService, 'Diagnostics', 'Diagnostics of every device', diagnostics)

interface ExtraServices {
  readonly isFlapping?: boolean
  readonly isControlled?: boolean
}

export function deviceKinds({ isFlapping = false, isControlled = false }: ExtraServices = {}): readonly DeviceKind[] {
  const more = [...(isFlapping ? [levelService] : []), ...(isControlled ? [controlsService] : [])]
  const kind = (name: string, code: string, measuring: SimulatedService): DeviceKind => ({
    ...{ name, code, services: [measuring, diagnosticsOfAll, ...more] },
  })
  return [
    kind('Climate sensor', 'CLIMATE', service(airService, 'Air', 'The air of a room', air)),
    kind('Power meter', 'METER', service(powerService, 'Power', 'The electricity of a floor', power)),
    kind('Pump', 'PUMP', service(pumpService, 'Pump', 'A pump of the heating', pump)),
  ]
}

/** One property that alternates around its threshold of 50. */
const levelService: SimulatedService = {
  serviceIdentifier: '5f2a7c10-000e-4b6d-9e3f-c00000000001',
  name: 'Level',
  description: 'A level that crosses 50 %, up and down',
  properties: [
    { propId: 0x2000, name: 'Level', description: 'From 40 to 60 and back', type: 'FLOAT', unit: '%', range: [40, 60] },
  ],
}

export const controlsService: SimulatedService = {
  serviceIdentifier: '5f2a7c10-000f-4b6d-9e3f-c00000000003',
  name: 'Controls',
  description: 'Settings and actions of the device',
  properties: [
    {
      ...{ propId: 0x2000, name: 'Setpoint', description: 'The target temperature', type: 'FLOAT', unit: '°C' },
      ...{ order: 'writable', range: [5, 30] },
    },
    { propId: 0x2001, name: 'Reset', description: 'Restarts the device', type: 'BOOL', order: 'actionable' },
    {
      ...{ propId: 0x2002, name: 'Mode', description: 'The operating mode', type: 'UINT8', order: 'writable' },
      enumeration: ['Off', 'Automatic', 'Manual'],
    },
  ],
}

function service(serviceIdentifier: string, name: string, description: string, rows: readonly Row[]): SimulatedService {
  const properties = rows.map(([property, type, model, details], index): SimulatedProperty => {
    return { propId: 0x2000 + index, name: property, description: property, type, model, ...details }
  })
  return { serviceIdentifier, name, description, properties }
}

/** A value around a level of the device: a wave of one day, two shorter waves that are visible live, and noise. */
function wave(low: number, high: number, decimals: number): ValueModel {
  const salt = Math.round(low * 31 + high)
  return (number, device) => {
    const level = share(device, salt)
    // Independent of the level: otherwise all devices with a high level would peak, and raise alarms, at the same time.
    const phase = share(device, salt + 1)
    const daily = 1 + Math.sin(2 * Math.PI * ((startedAt + number * msPerChange) / 86_400_000 + phase))
    const slow = 1 + Math.sin(2 * Math.PI * (number / 900 + 31 * phase))
    const fast = 1 + Math.sin(2 * Math.PI * (number / 110 + 7 * phase))
    const part = 0.1 + 0.3 * level + 0.17 * daily + 0.08 * slow + 0.04 * fast + 0.02 * share(device, number)
    return round(low + (high - low) * part, decimals)
  }
}

function whileRunning(model: ValueModel): ValueModel {
  return (number, device) => (pumpStates[pumpState(number, device)] === 'Running' ? model(number, device) : 0)
}

/** Most pumps always run; one in seven stops now and then, and some of these with a fault. */
function pumpState(number: number, device: number): number {
  if (!isExceptional(number, device, 7)) return pumpStates.indexOf('Running')
  return pumpStates.indexOf(share(device, 13) < 0.4 ? 'Fault' : 'Stopped')
}

function energy(number: number, device: number): DeviceValue {
  const hours = (startedAt - 1_780_000_000_000 + number * msPerChange) / 3_600_000
  return round(hours * (0.5 + 2 * share(device, 8)), 3)
}

/**
 * Whether a device is in its exceptional state. One in `oneIn` devices is, for a third of the time, each at other
 * times.
 */
function isExceptional(number: number, device: number, oneIn: number): boolean {
  return Math.floor(share(device, 11) * oneIn) === 0 && Math.floor(number / 240 + 10 * share(device, 12)) % 3 === 0
}

/** A number from 0 to 1 that looks random, and is always the same for the same arguments. */
export function share(first: number, second: number): number {
  let hash = Math.imul(first ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(second + 1, 0xc2b2ae35)
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  return ((hash ^ (hash >>> 13)) >>> 0) / 2 ** 32
}

/** The remainder, which is at least 0 for negative numbers too. */
function remainder(number: number, divisor: number): number {
  return number - divisor * Math.floor(number / divisor)
}

export function round(value: number, decimals: number): number {
  return Number(value.toFixed(decimals))
}

export interface Change {
  readonly property: SimulatedProperty
  readonly value: DeviceValue
}

export interface Frame {
  readonly service: SimulatedService
  readonly changes: readonly Change[]
}

/** Every eighth frame reports the diagnostics. */
const diagnosticsEvery = 8

/** The content of the frames of one kind of device. It is a pure function of the device and the frame's number. */
export class FramePlan {
  readonly kind: DeviceKind
  readonly #changesPerFrame: number
  /** The level crosses its threshold once in this number of frames; 0: never. */
  readonly #flap: number
  /** By service, the properties that are not constant. The measuring service is first, the diagnostics second. */
  readonly #reported: readonly (readonly SimulatedProperty[])[]

  /** `flap` needs a kind with a level. */
  constructor(kind: DeviceKind, changesPerFrame: number, flap = 0) {
    this.kind = kind
    this.#changesPerFrame = changesPerFrame
    this.#flap = flap
    this.#reported = kind.services.map(({ properties }) => properties.filter((property) => !property.isConstant))
  }

  /** The frame with this number. It reports the next properties in rotation. */
  frame(deviceIndex: number, number: number): Frame {
    const crossing = this.#flap > 0 ? (number + deviceIndex) / this.#flap : 0.5
    if (Number.isInteger(crossing)) return this.#levelFrame(crossing % 2 === 1)
    // Devices report their diagnostics at different times.
    const serviceIndex = (number + deviceIndex) % diagnosticsEvery === 0 ? 1 : 0
    const properties = this.#reported[serviceIndex] ?? []
    const count = Math.min(this.#changesPerFrame, properties.length)
    const changes = Array.from({ length: count }, (_, place) => {
      const property = properties[(number * count + place) % properties.length] as SimulatedProperty
      return { property, value: reportedValue(property, deviceIndex, number * this.#changesPerFrame + place) }
    })
    return { service: this.kind.services[serviceIndex] as SimulatedService, changes }
  }

  get meanChangesPerFrame(): number {
    const [measured = 0, diagnostics = 0] = this.#reported.map(({ length }) => Math.min(this.#changesPerFrame, length))
    const others = (measured * (diagnosticsEvery - 1) + diagnostics) / diagnosticsEvery
    return this.#flap > 0 ? others + (1 - others) / this.#flap : others
  }

  #levelFrame(isAbove: boolean): Frame {
    const [property] = levelService.properties as readonly [SimulatedProperty]
    const [low, high] = property.range as readonly [number, number]
    return { service: levelService, changes: [{ property, value: isAbove ? high : low }] }
  }
}

export function reportedValue({ model }: SimulatedProperty, deviceIndex: number, number: number): DeviceValue {
  return model?.(number, deviceIndex) ?? 0
}
