import type { PropertyType, SimulatedProperty } from '#bench/fleet/encoding'
import { authorizationHeader } from '#bench/harness/identity'
import { request } from '#bench/http'

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

export const propertiesPerDeviceMin = diagnosticsRows.length + 1
/** 1 024 properties in one service (contract 3.11), plus the diagnostics. */
export const propertiesPerDeviceMax = 1024 + diagnosticsRows.length

export interface ExtraServices {
  readonly isFlapping?: boolean
  readonly isControlled?: boolean
}

/** One property that alternates around its threshold of 50. */
export const levelService: SimulatedService = {
  serviceIdentifier: '5f2a7c10-000e-4b6d-9e3f-c00000000001',
  name: 'Level',
  description: 'A level that crosses 50 %, up and down',
  properties: [{ ...property(['Level', 'FLOAT', '%', 40, 60], 0x2000), description: 'From 40 to 60 and back' }],
}

const mode = ['Off', 'Automatic', 'Manual'] as const

export const controlsService: SimulatedService = {
  serviceIdentifier: '5f2a7c10-000f-4b6d-9e3f-c00000000003',
  name: 'Controls',
  description: 'Settings and actions of the device',
  properties: [
    {
      ...property(['Setpoint', 'FLOAT', '°C', 5, 30], 0x2000),
      description: 'The target temperature',
      order: 'writable',
    },
    { ...property(['Reset', 'BOOL'], 0x2001), description: 'Restarts the device', order: 'actionable' },
    { ...property(['Mode', 'UINT8', mode], 0x2002), description: 'The operating mode', order: 'writable' },
  ],
}

/**
 * The kinds of a fleet whose devices measure `propertiesPerDevice` properties each; more than ten are numbered
 * channels.
 */
export function deviceKinds(
  propertiesPerDevice: number,
  { isFlapping = false, isControlled = false }: ExtraServices = {},
): readonly DeviceKind[] {
  return kinds.map((kind, place) => {
    const channels = propertiesPerDevice - diagnosticsRows.length
    const rows: Row[] = kind.rows.slice(0, channels)
    while (rows.length < channels) rows.push([`Channel ${rows.length + 1}`, 'FLOAT', 'mA', 4, 20])
    return {
      name: kind.name,
      code: kind.code,
      services: [
        service(kind.service, `Measurements of a ${kind.name.toLowerCase()}`, place + 1, rows),
        service('Diagnostics', 'Diagnostics of every device', 0xd, diagnosticsRows),
        ...(isFlapping ? [levelService] : []),
        ...(isControlled ? [controlsService] : []),
      ],
    }
  })
}

/** The identifier contains the number of properties: fleets of other sizes have other services. */
function service(name: string, description: string, place: number, rows: readonly Row[]): SimulatedService {
  const tail = `b${rows.length.toString(16).padStart(11, '0')}`
  return {
    serviceIdentifier: `5f2a7c10-000${place.toString(16)}-4b6d-9e3f-${tail}`,
    name,
    description,
    properties: rows.map((row, index) => property(row, 0x2000 + index)),
  }
}

function property(row: Row, propId: number): SimulatedProperty {
  const [name, type, third, low = 0, high = 100] = row
  return {
    propId,
    name,
    description: `${name} as the device reports it`,
    type,
    low,
    high,
    ...(typeof third === 'string' && { unit: third }),
    ...(typeof third === 'object' && { enumeration: third }),
    ...(name === 'Serial number' && { isConstant: true }),
  }
}

/** The schema of a simulated service, in the shape of §2.4 and contract 3.9. */
export function schemaOf(service: SimulatedService): object {
  return {
    name: service.name,
    description: service.description,
    properties: Object.fromEntries(service.properties.map((property) => [hexOf(property), schemaOfProperty(property)])),
  }
}

/** Stores the schemas of all services, so that `raw=false` shows names. Returns their number; throws on a refusal. */
export async function putSchemas(
  serverUrl: string,
  kinds: readonly DeviceKind[],
  authorization?: string,
): Promise<number> {
  const services = new Map(
    kinds.flatMap((kind) => kind.services).map((service) => [service.serviceIdentifier, service]),
  )
  for (const [serviceIdentifier, service] of services) {
    const answer = await request(`${serverUrl}/api/v1/schemas/${serviceIdentifier}`, {
      method: 'PUT',
      headers: authorizationHeader(authorization),
      body: JSON.stringify(schemaOf(service)),
    })
    if (answer.status >= 300) throw new Error(`schema of ${service.name}: ${answer.status} ${answer.text}`)
  }
  return services.size
}

function schemaOfProperty(property: SimulatedProperty): object {
  return {
    name: property.name,
    description: property.description,
    type: property.type.toLowerCase(),
    ...(property.order === undefined && { readonly: true }),
    ...(property.order === 'actionable' && { actionable: true }),
    ...(property.unit !== undefined && { unit: property.unit }),
    ...(property.enumeration && {
      enum: Object.fromEntries(property.enumeration.map((name, value) => [String(value), { name }])),
    }),
  }
}

const hexOf = (property: SimulatedProperty): string => `0x${property.propId.toString(16).padStart(4, '0')}`
