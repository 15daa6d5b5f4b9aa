import { useEffect, useState } from 'preact/hooks'
import type { Desired, Schema, ServiceView } from '#client/client'
import { Button } from '#dashboard/components/button'
import { Section } from '#dashboard/components/page'
import { TableFrame } from '#dashboard/components/table'
import { isNumeric, seriesKey } from '#dashboard/history/chart-series'
import { useSparklines } from '#dashboard/history/use-sparklines'
import { PropertyRow } from '#dashboard/pages/device/property-row'
import { mayUser } from '#dashboard/session'
import { liveState } from '#dashboard/state'
import { schemaOfProperty } from '#dashboard/values/format-value'

export interface ServiceSectionProps {
  readonly deviceIdentifier: string
  readonly serviceIdentifier: string
  readonly service: ServiceView
  readonly schema: Schema | undefined
  readonly isConnected: boolean
}

/** A service may have a thousand properties; this number is shown first. */
const shownFirst = 40

/** The properties of a service, named by the schema of the service if it has one. */
export function ServiceSection(props: ServiceSectionProps) {
  const { deviceIdentifier, serviceIdentifier, service, schema, isConnected } = props
  const [isExpanded, setExpanded] = useState(false)
  const mayWrite = mayUser('service', 'update', { deviceIdentifier, serviceIdentifier })
  const [desired, setDesired] = useState<Desired>({})
  useEffect(
    () => liveState().device(deviceIdentifier).desired(serviceIdentifier, setDesired),
    [deviceIdentifier, serviceIdentifier],
  )
  const properties = [...service.values()]
  const shown = isExpanded ? properties : properties.slice(0, shownFirst)
  const place = { deviceIdentifier, serviceIdentifier }
  const pointsOf = useSparklines(
    shown
      .filter((property) => isNumeric(property, schemaOfProperty(schema, property.propId)))
      .map(({ propId }) => ({ ...place, propId })),
  )
  const title = schema?.name ?? serviceIdentifier
  return (
    <Section title={title} beside={<span class="soft">{schema ? schema.description : 'without a schema'}</span>}>
      <TableFrame caption={`Properties of ${title}`} class="properties">
        <thead>
          <tr>
            <th scope="col">Property</th>
            <th scope="col" class="end">
              Value
            </th>
            <th scope="col">Last hour</th>
            <th scope="col">Reported</th>
            <th scope="col">
              <span class="hidden">Change</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {shown.map((property) => (
            <PropertyRow
              key={property.propId}
              {...{ place, property, schema, mayWrite, isConnected }}
              desired={desired[property.propId]}
              points={pointsOf(seriesKey({ ...place, propId: property.propId }))}
            />
          ))}
        </tbody>
      </TableFrame>
      {shown.length < properties.length && (
        <p>
          <Button onPress={() => setExpanded(true)}>Show all {properties.length} properties</Button>
        </p>
      )}
    </Section>
  )
}
