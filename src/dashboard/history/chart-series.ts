import type { DeviceView, PropertyView, Schema } from '#client/client'
import { nameOf, type PropertySchema, schemaOfProperty } from '#dashboard/values/format-value'
import { groupBy } from '#dashboard/values/group-by'

export interface ChartSeries {
  readonly deviceIdentifier: string
  readonly serviceIdentifier: string
  readonly propId: number
  readonly name: string
  readonly unit: string | undefined
}

/** More lines would be hard to distinguish. */
export const seriesMax = 6

/** Whether averages of a property are meaningful. Contract 9. */
export function isNumeric({ type }: Pick<PropertyView, 'type'>, about: PropertySchema | undefined): boolean {
  return about?.enum === undefined && /^(U?INT(8|16|32|64)|FLOAT(64)?)$/.test(type)
}

export function seriesOf(
  place: Pick<ChartSeries, 'deviceIdentifier' | 'serviceIdentifier'>,
  propId: number,
  schema: Schema | undefined,
): ChartSeries {
  const about = schemaOfProperty(schema, propId)
  return { ...place, propId, name: nameOf(propId, about), unit: about?.unit || undefined }
}

export function numericSeries(
  { deviceIdentifier, services }: Pick<DeviceView, 'deviceIdentifier' | 'services'>,
  schemas: { get(serviceIdentifier: string): Schema | undefined },
): readonly ChartSeries[] {
  return [...services].flatMap(([serviceIdentifier, service]) => {
    const schema = schemas.get(serviceIdentifier)
    return [...service.values()]
      .filter((property) => isNumeric(property, schemaOfProperty(schema, property.propId)))
      .map(({ propId }) => seriesOf({ deviceIdentifier, serviceIdentifier }, propId, schema))
  })
}

export function seriesKey({ deviceIdentifier, serviceIdentifier, propId }: Omit<ChartSeries, 'name' | 'unit'>): string {
  return `${deviceIdentifier}/${serviceIdentifier}/${propId}`
}

/** The names of series in one chart: with the device if there are several. */
export function seriesLabels(series: readonly ChartSeries[]): readonly string[] {
  const isOneDevice = series.every(({ deviceIdentifier }) => deviceIdentifier === series[0]?.deviceIdentifier)
  return series.map(({ name, deviceIdentifier }) => (isOneDevice ? name : `${name} · ${deviceIdentifier}`))
}

/** The series in groups, one for each service of a device: each group is one request. */
export function seriesByService(series: readonly ChartSeries[]): readonly (readonly ChartSeries[])[] {
  const serviceOf = ({ deviceIdentifier, serviceIdentifier }: ChartSeries) => `${deviceIdentifier}/${serviceIdentifier}`
  return [...groupBy(series, serviceOf).values()]
}
