import type { DeviceView, Schema } from '#client/client'
import { type ChartSeries, isNumeric, seriesOf } from '#dashboard/history/chart-series'
import { nameOf, numberOf, plainText, schemaOfProperty, valueText, withUnit } from '#dashboard/values/format-value'
import { lastMessageAt } from '#dashboard/values/last-message'

/** A column of the fleet. It is identified by a key that can be stored, such as `property:<service>/<propId>`. */
export interface FleetColumn {
  readonly key: string
  readonly title: string
  readonly unit?: string | undefined
  /** The name of its service, for a property. */
  readonly service?: string | undefined
  /** Minimum width in rem; the remaining width is shared in proportion. */
  readonly width: number
  readonly isNumber?: boolean | undefined
  readonly sortKey: SortKey | undefined
  readonly isUnsorted?: boolean | undefined
  /** Absent: the page renders the cell itself. */
  readonly text?: (device: DeviceView) => string
}

export type Schemas = { get(serviceIdentifier: string): Schema | undefined }

const statusOrder: Readonly<Record<string, number>> = { online: 0, idle: 1, offline: 2 }

/** The columns of every device. */
export const fixedColumns: readonly FleetColumn[] = [
  { key: 'device', title: 'Device', width: 22, sortKey: undefined },
  { key: 'status', title: 'Status', width: 10, sortKey: ({ status }) => statusOrder[status ?? ''] },
  {
    key: 'seen',
    title: 'Last message',
    width: 8,
    sortKey: (device) => lastMessageAt(device) || undefined,
  },
  {
    key: 'connects',
    title: 'Connects',
    width: 6,
    isNumber: true,
    sortKey: ({ numConnects }) => numConnects,
    text: ({ numConnects }) => String(numConnects),
  },
  { key: 'trend', title: 'Last hour', width: 9, sortKey: undefined, isUnsorted: true },
  { key: 'values', title: 'Values', width: 22, sortKey: ({ services }) => services.size },
]

/**
 * The known columns, each once. A property whose name is the title of another column gets the name of its service too.
 */
export function columnsOf(keys: readonly string[], schemas: Schemas): readonly FleetColumn[] {
  const columns = [...new Set(keys)].flatMap((key) => columnOf(key, schemas) ?? [])
  return columns.map((column) => {
    const isAmbiguous = columns.some(({ key, title }) => key !== column.key && title === column.title)
    return isAmbiguous && column.service !== undefined
      ? withTitle(column, `${column.service} · ${column.title}`)
      : column
  })
}

/** Undefined if the key is unknown. */
export function columnOf(key: string, schemas: Schemas): FleetColumn | undefined {
  if (key.startsWith('meta:')) return metaColumn(key, key.slice('meta:'.length))
  const [, serviceIdentifier, propId] = /^property:(.+)\/(\d+)$/.exec(key) ?? []
  if (serviceIdentifier === undefined) return fixedColumns.find((column) => column.key === key)
  return propertyColumn(key, serviceIdentifier, Number(propId), schemas)
}

export function propertyKey(serviceIdentifier: string, propId: number): string {
  return `property:${serviceIdentifier}/${propId}`
}

const shownOfService = 5

/**
 * The default columns. With a service, each of its first properties has a column; without a service (`""`), a single
 * column lists some values. `propIds`: the properties of the service that devices have.
 */
export function defaultColumnKeys(service: string, propIds: readonly number[]): string[] {
  const first = ['device', 'status', 'trend']
  if (service === '') return [...first, 'values']
  return [...first, ...propIds.slice(0, shownOfService).map((propId) => propertyKey(service, propId))]
}

/**
 * The property whose last hour is shown: the first numeric property with a column, or else the first numeric property.
 */
export function trendOf(
  device: DeviceView,
  schemas: Schemas,
  columns: readonly FleetColumn[],
): ChartSeries | undefined {
  const { deviceIdentifier } = device
  let found: ChartSeries | undefined
  for (const [serviceIdentifier, service] of device.services) {
    const schema = schemas.get(serviceIdentifier)
    for (const property of service.values()) {
      const { propId, value } = property
      const hasColumn = columns.some(({ key }) => key === propertyKey(serviceIdentifier, propId))
      if ((found && !hasColumn) || value === undefined || !isNumeric(property, schemaOfProperty(schema, propId)))
        continue
      found = seriesOf({ deviceIdentifier, serviceIdentifier }, propId, schema)
      if (hasColumn) return found
    }
  }
  return found
}

const valuesInLine = 4

/** `Temperature 21.5 °C · Humidity 40 %`: the first values of a device, without those that have a column. */
export function valuesText(device: DeviceView, schemas: Schemas, columns: readonly FleetColumn[]): string {
  const texts: string[] = []
  for (const [serviceIdentifier, service] of device.services) {
    const schema = schemas.get(serviceIdentifier)
    for (const [propId, property] of service) {
      if (property.value === undefined || typeof property.value === 'object') continue
      if (columns.some(({ key }) => key === propertyKey(serviceIdentifier, propId))) continue
      const about = schemaOfProperty(schema, propId)
      texts.push(`${nameOf(propId, about)} ${withUnit(valueText(property, about), about?.unit)}`)
      if (texts.length === valuesInLine) return texts.join(' · ')
    }
  }
  return texts.join(' · ')
}

function metaColumn(key: string, name: string): FleetColumn {
  const text = ({ meta }: DeviceView) => {
    const value = meta[name]
    return value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value)
  }
  return { key, title: name, width: 9, sortKey: (device) => text(device) || undefined, text }
}

const [narrowestRem, widestRem] = [8, 15]

/** The column with a title, wide enough for most titles. */
function withTitle(column: FleetColumn, title: string): FleetColumn {
  const characters = title.length + (column.unit?.length ?? 0)
  return { ...column, title, width: Math.min(widestRem, Math.max(narrowestRem, characters * 0.55 + 3)) }
}

function propertyColumn(key: string, serviceIdentifier: string, propId: number, schemas: Schemas): FleetColumn {
  const schema = schemas.get(serviceIdentifier)
  const about = schemaOfProperty(schema, propId)
  const valueIn = (device: DeviceView) => device.services.get(serviceIdentifier)?.valueAt(propId)
  const title = nameOf(propId, about)
  const column: FleetColumn = {
    key,
    title,
    service: schema?.name ?? serviceIdentifier,
    unit: about?.unit || undefined,
    width: narrowestRem,
    isNumber: about?.enum === undefined && !['string', 'uuid', 'bool'].includes(about?.type ?? ''),
    sortKey: (device) => {
      const value = valueIn(device)
      return numberOf(value) ?? (typeof value === 'string' ? value : undefined)
    },
    text: (device) => {
      const value = valueIn(device)
      if (value !== undefined && about?.type !== undefined) return plainText(value, about.type.toUpperCase(), about)
      return valueText(device.services.get(serviceIdentifier)?.get(propId), about)
    },
  }
  return withTitle(column, title)
}

/** The sort value of a device in a column. Devices without a value come last in both directions. */
export type SortKey = (device: DeviceView) => number | string | undefined

/** Whether two lists have the same rows in the same order: then nothing needs to be rendered. */
export function isSameOrder(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((identifier, place) => identifier === other[place])
}

/** Devices with the same value stay in their order. Unknown devices are left out. */
export function sortedBy(
  identifiers: readonly string[],
  devices: { get(identifier: string): DeviceView | undefined },
  sortKey: SortKey,
  isDescending: boolean,
): readonly string[] {
  const rows = identifiers.flatMap((identifier, place) => {
    const device = devices.get(identifier)
    return device ? [{ identifier, place, key: sortKey(device) }] : []
  })
  const sign = isDescending ? -1 : 1
  rows.sort(({ key: a, place }, { key: b, place: otherPlace }) => {
    if (a === b) return place - otherPlace
    if (a === undefined) return 1
    if (b === undefined) return -1
    if (typeof a === typeof b) return a < b ? -sign : sign
    // Numbers before texts.
    return typeof a === 'number' ? -sign : sign
  })
  return rows.map(({ identifier }) => identifier)
}
