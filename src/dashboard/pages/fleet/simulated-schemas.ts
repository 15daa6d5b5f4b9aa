import type { ServiceSchema } from '#model/service-schema'

/** The schemas of the simulated fleet of `fleetCommand`: names and units, as its devices report them. */

/** `[name, type]`, and its unit or the names of its values. */
type Row = readonly [name: string, type: string, more?: string | readonly string[]]

const measured: readonly (readonly [id: string, name: string, of: string, rows: readonly Row[]])[] = [
  [
    '0001-4b6d-9e3f-b00000000007',
    'Climate',
    'Measurements of a climate sensor',
    [
      ['Temperature', 'float', '°C'],
      ['Humidity', 'float', '%'],
      ['Carbon dioxide', 'uint16', 'ppm'],
      ['Window open', 'bool'],
      ['Mode', 'uint8', ['Off', 'Heating', 'Cooling', 'Ventilating']],
      ['Status', 'string'],
      ['Samples', 'uint32'],
    ],
  ],
  [
    '0002-4b6d-9e3f-b00000000007',
    'Power',
    'Measurements of a power meter',
    [
      ['Energy', 'uint64', 'mWh'],
      ['Power', 'float64', 'W'],
      ['Voltage', 'float-array', 'V'],
      ['Frequency', 'float', 'Hz'],
      ['Phase error', 'int16', 'mrad'],
      ['Tariff', 'uint8', ['Day', 'Night', 'Peak']],
      ['Raw register', 'binary'],
    ],
  ],
  [
    '0003-4b6d-9e3f-b00000000007',
    'Pump',
    'Measurements of a pump',
    [
      ['Speed', 'float', 'rpm'],
      ['Pressure', 'float', 'bar'],
      ['Running', 'bool'],
      ['Valve', 'uint8', '%'],
      ['State', 'uint8', ['Stopped', 'Starting', 'Running', 'Fault']],
      ['Job', 'uuid'],
      ['Flow balance', 'int64', 'ml'],
    ],
  ],
  [
    '000d-4b6d-9e3f-b00000000003',
    'Diagnostics',
    'Diagnostics of every device',
    [
      ['Ticks', 'uint64', 'µs'],
      ['Clock', 'datetime'],
      ['Serial number', 'string'],
    ],
  ],
]

const controls: ServiceSchema = {
  name: 'Controls',
  description: 'Settings and actions of the device',
  properties: {
    '0x2000': { name: 'Setpoint', description: 'The target temperature', type: 'float', unit: '°C' },
    '0x2001': { name: 'Reset', description: 'Restarts the device', type: 'bool', actionable: true },
    '0x2002': {
      name: 'Mode',
      description: 'The operating mode',
      type: 'uint8',
      enum: namesOf(['Off', 'Automatic', 'Manual']),
    },
  },
}

/** By service. */
export const simulatedSchemas: ReadonlyMap<string, ServiceSchema> = new Map([
  ...measured.map(
    ([id, name, description, rows]) => [idOf(id), { name, description, properties: readOnly(rows) }] as const,
  ),
  [idOf('000f-4b6d-9e3f-c00000000003'), controls],
])

function idOf(rest: string): string {
  return `5f2a7c10-${rest}`
}

function readOnly(rows: readonly Row[]): ServiceSchema['properties'] {
  const properties = rows.map(([name, type, more], place) => [
    `0x${(0x2000 + place).toString(16)}`,
    {
      name,
      description: `${name} as the device reports it`,
      type,
      readonly: true,
      ...(typeof more === 'string' && { unit: more }),
      ...(typeof more === 'object' && { enum: namesOf(more) }),
    },
  ])
  return Object.fromEntries(properties)
}

function namesOf(names: readonly string[]): Record<string, { name: string }> {
  return Object.fromEntries(names.map((name, value) => [`${value}`, { name }]))
}
