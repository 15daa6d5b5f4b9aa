import type { ServiceSchema } from '#model/service-schema'

/** The schemas of the simulated fleet of `fleetCommand`: names and units, as its devices report them. */

/** By name, the type of a property, and its unit or the names of its values. */
type Properties = Readonly<Record<string, readonly [type: string, more?: string | readonly string[]]>>

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
  readOnly('de300001-7c1e-4b6d-9e3f-000000000001', 'Air', 'The air of a room', {
    Temperature: ['float', '°C'],
    Humidity: ['float', '%'],
    'Carbon dioxide': ['uint16', 'ppm'],
    'Window open': ['bool'],
    Battery: ['uint8', '%'],
  }),
  readOnly('de300001-7c1e-4b6d-9e3f-000000000002', 'Power', 'The electricity of a floor', {
    Power: ['float64', 'W'],
    Voltage: ['float-array', 'V'],
    Frequency: ['float', 'Hz'],
    Energy: ['float64', 'kWh'],
    Tariff: ['uint8', ['Day', 'Night']],
  }),
  readOnly('de300001-7c1e-4b6d-9e3f-000000000003', 'Pump', 'A pump of the heating', {
    Speed: ['float', 'rpm'],
    Flow: ['float', 'm³/h'],
    Pressure: ['float', 'bar'],
    'Bearing temperature': ['float', '°C'],
    State: ['uint8', ['Stopped', 'Starting', 'Running', 'Fault']],
  }),
  readOnly('de300001-7c1e-4b6d-9e3f-000000000004', 'Diagnostics', 'Diagnostics of every device', {
    Uptime: ['uint64', 's'],
    Clock: ['datetime'],
    'Signal strength': ['int16', 'dBm'],
    'Serial number': ['string'],
  }),
  ['5f2a7c10-000f-4b6d-9e3f-c00000000003', controls],
])

type Described = readonly [serviceIdentifier: string, schema: ServiceSchema]

function readOnly(serviceIdentifier: string, name: string, description: string, rows: Properties): Described {
  const properties = Object.entries(rows).map(([title, [type, more]], place) => {
    const about = typeof more === 'string' ? { unit: more } : more && { enum: namesOf(more) }
    return [`0x${(0x2000 + place).toString(16)}`, { name: title, description: title, type, readonly: true, ...about }]
  })
  return [serviceIdentifier, { name, description, properties: Object.fromEntries(properties) }]
}

function namesOf(names: readonly string[]): Record<string, { name: string }> {
  return Object.fromEntries(names.map((name, value) => [`${value}`, { name }]))
}
