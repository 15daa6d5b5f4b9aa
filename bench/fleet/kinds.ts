import type { PropertyType, SimulatedProperty } from '#bench/fleet/encoding'

/** `numeric`: numbers only. `mixed`: also booleans, strings, enumerations, 64-bit, arrays, binary, times. */
export type PropertyMix = 'numeric' | 'mixed'

export interface SimulatedService {
  readonly serviceIdentifier: string
  readonly name: string
  readonly description: string
  readonly properties: readonly SimulatedProperty[]
}

/** What a simulated device is: its measuring service first, its diagnostics second, then what was asked for beside. */
export interface DeviceKind {
  readonly name: string
  /** In device identifiers. */
  readonly code: string
  readonly services: readonly SimulatedService[]
}

/** `[name, type, unit, low, high]` or `[name, type, names of an enumeration]`. */
type Row =
  | readonly [string, PropertyType, string?, number?, number?]
  | readonly [string, PropertyType, readonly string[]]

interface KindTable {
  readonly name: string
  readonly code: string
  readonly service: string
  readonly rows: readonly Row[]
}

/** The first row of each is wide (`encoding.ts`), so that every cut of the table can carry the number of a change. */
const kinds: readonly KindTable[] = [
  {
    name: 'Climate sensor',
    code: 'CLIMATE',
    service: 'Climate',
    rows: [
      ['Temperature', 'FLOAT', '°C', 15, 30],
      ['Humidity', 'FLOAT', '%', 20, 80],
      ['Carbon dioxide', 'UINT16', 'ppm', 400, 2000],
      ['Window open', 'BOOL'],
      ['Mode', 'UINT8', ['Off', 'Heating', 'Cooling', 'Ventilating']],
      ['Status', 'STRING'],
      ['Samples', 'UINT32'],
    ],
  },
  {
    name: 'Power meter',
    code: 'METER',
    service: 'Power',
    rows: [
      ['Energy', 'UINT64', 'mWh'],
      ['Power', 'FLOAT64', 'W', 0, 4000],
      ['Voltage', 'FLOAT-ARRAY', 'V', 220, 240],
      ['Frequency', 'FLOAT', 'Hz', 49, 51],
      ['Phase error', 'INT16', 'mrad'],
      ['Tariff', 'UINT8', ['Day', 'Night', 'Peak']],
      ['Raw register', 'BINARY'],
    ],
  },
  {
    name: 'Pump',
    code: 'PUMP',
    service: 'Pump',
    rows: [
      ['Speed', 'FLOAT', 'rpm', 0, 3000],
      ['Pressure', 'FLOAT', 'bar', 1, 10],
      ['Running', 'BOOL'],
      ['Valve', 'UINT8', '%'],
      ['State', 'UINT8', ['Stopped', 'Starting', 'Running', 'Fault']],
      ['Job', 'UUID'],
      ['Flow balance', 'INT64', 'ml'],
    ],
  },
]

const diagnosticsRows: readonly Row[] = [
  ['Ticks', 'UINT64', 'µs'],
  ['Clock', 'DATETIME'],
  ['Serial number', 'STRING'],
]

/** A numeric fleet keeps the same properties with the number type nearest to what they were. */
const numericTypes: Partial<Record<PropertyType, PropertyType>> = {
  BOOL: 'UINT8',
  STRING: 'FLOAT',
  UINT64: 'UINT32',
  INT64: 'INT32',
  DATETIME: 'FLOAT64',
  BINARY: 'UINT32',
  UUID: 'UINT32',
  'FLOAT-ARRAY': 'FLOAT',
}

export const propertiesPerDeviceMin = diagnosticsRows.length + 1
/** 1 024 properties a service (contract 3.11), and the diagnostics. */
export const propertiesPerDeviceMax = 1024 + diagnosticsRows.length

/** What devices have beside what they measure, in services of their own. */
export interface Besides {
  readonly isFlapping?: boolean
  readonly isControlled?: boolean
}

/** One property that crosses its threshold, 50, again and again. */
export const levelService: SimulatedService = {
  serviceIdentifier: '5f2a7c10-000e-4b6d-9e3f-c00000000001',
  name: 'Level',
  description: 'A level that crosses 50 %, up and down',
  properties: [
    {
      propId: 0x2000,
      name: 'Level',
      description: 'From 40 to 60 and back',
      type: 'FLOAT',
      unit: '%',
      low: 40,
      high: 60,
    },
  ],
}

/** What takes WRITEs. */
export const controlsService: SimulatedService = {
  serviceIdentifier: '5f2a7c10-000f-4b6d-9e3f-c00000000003',
  name: 'Controls',
  description: 'What the device may be asked to be and to do',
  properties: [
    {
      propId: 0x2000,
      name: 'Setpoint',
      description: 'What it aims at',
      type: 'FLOAT',
      unit: '°C',
      low: 5,
      high: 30,
      order: 'writable',
    },
    {
      propId: 0x2001,
      name: 'Reset',
      description: 'Starts it anew',
      type: 'BOOL',
      low: 0,
      high: 1,
      order: 'actionable',
    },
    {
      propId: 0x2002,
      name: 'Mode',
      description: 'What it does',
      type: 'UINT8',
      low: 0,
      high: 2,
      enumeration: ['Off', 'Automatic', 'Manual'],
      order: 'writable',
    },
  ],
}

/** The kinds of a fleet whose devices measure `propertiesPerDevice` properties each; channels are added above ten. */
export function deviceKinds(
  mix: PropertyMix,
  propertiesPerDevice: number,
  { isFlapping = false, isControlled = false }: Besides = {},
): readonly DeviceKind[] {
  return kinds.map((kind, place) => {
    const channels = propertiesPerDevice - diagnosticsRows.length
    const rows: Row[] = kind.rows.slice(0, channels)
    while (rows.length < channels) rows.push([`Channel ${rows.length + 1}`, 'FLOAT', 'mA', 4, 20])
    return {
      name: kind.name,
      code: kind.code,
      services: [
        service(kind.service, `Measurements of a ${kind.name.toLowerCase()}`, place + 1, rows, mix),
        service('Diagnostics', 'What every device tells of itself', 0xd, diagnosticsRows, mix),
        ...(isFlapping ? [levelService] : []),
        ...(isControlled ? [controlsService] : []),
      ],
    }
  })
}

/** The identifier tells what the service holds, so fleets of another mix or size declare services of their own. */
function service(
  name: string,
  description: string,
  place: number,
  rows: readonly Row[],
  mix: PropertyMix,
): SimulatedService {
  const tail = (mix === 'mixed' ? 'b' : 'a') + rows.length.toString(16).padStart(11, '0')
  return {
    serviceIdentifier: `5f2a7c10-000${place.toString(16)}-4b6d-9e3f-${tail}`,
    name,
    description,
    properties: rows.map((row, index) => property(row, 0x2000 + index, mix)),
  }
}

function property(row: Row, propId: number, mix: PropertyMix): SimulatedProperty {
  const [name, declared, third, low, high] = row
  const isConstant = name === 'Serial number'
  const type = mix === 'numeric' && !isConstant ? (numericTypes[declared] ?? declared) : declared
  return {
    propId,
    name,
    description: `${name} as the device reports it`,
    type,
    low: low ?? 0,
    high: high ?? 100,
    ...(typeof third === 'string' && { unit: third }),
    ...(Array.isArray(third) && mix === 'mixed' && { enumeration: third as readonly string[] }),
    ...(isConstant && { isConstant }),
  }
}
