import type { ServiceSchema } from '#model/service-schema'

/** The schemas of the simulated fleet of `fleetCommand`: names and units, as its devices report them. */

/** `[name, type]`, and its unit or the names of its values. */
type Row = readonly [name: string, type: string, more?: string | readonly string[]]

const measured: readonly (readonly [place: number, name: string, of: string, rows: readonly Row[]])[] = [
  [
    1,
    'Air',
    'The air of a room',
    [
      ['Temperature', 'float', '°C'],
      ['Humidity', 'float', '%'],
      ['Carbon dioxide', 'uint16', 'ppm'],
      ['Window open', 'bool'],
      ['Battery', 'uint8', '%'],
    ],
  ],
  [
    2,
    'Power',
    'The electricity of a floor',
    [
      ['Power', 'float64', 'W'],
      ['Voltage', 'float-array', 'V'],
      ['Frequency', 'float', 'Hz'],
      ['Energy', 'float64', 'kWh'],
      ['Tariff', 'uint8', ['Day', 'Night']],
    ],
  ],
  [
    3,
    'Pump',
    'A pump of the heating',
    [
      ['Speed', 'float', 'rpm'],
      ['Flow', 'float', 'm³/h'],
      ['Pressure', 'float', 'bar'],
      ['Bearing temperature', 'float', '°C'],
      ['State', 'uint8', ['Stopped', 'Starting', 'Running', 'Fault']],
    ],
  ],
  [
    4,
    'Diagnostics',
    'Diagnostics of every device',
    [
      ['Uptime', 'uint64', 's'],
      ['Clock', 'datetime'],
      ['Signal strength', 'int16', 'dBm'],
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
    ([place, name, description, rows]) =>
      [`de300001-7c1e-4b6d-9e3f-00000000000${place}`, { name, description, properties: readOnly(rows) }] as const,
  ),
  ['5f2a7c10-000f-4b6d-9e3f-c00000000003', controls],
])

function readOnly(rows: readonly Row[]): ServiceSchema['properties'] {
  const properties = rows.map(([name, type, more], place) => [
    `0x${(0x2000 + place).toString(16)}`,
    {
      name,
      description: name,
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
