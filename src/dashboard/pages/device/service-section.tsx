import { useRef, useState } from 'preact/hooks'
import type { DeviceView, Schema, ServiceView } from '#client/client'
import { PropertyRow } from '#dashboard/pages/device/property-row'
import { Button } from '#dashboard/parts/button'
import { Section } from '#dashboard/parts/page'
import { client, mayI } from '#dashboard/session'
import { aboutOf, numberOf } from '#dashboard/values/format-value'
import { PointBuffer } from '#dashboard/values/point-buffer'

export interface ServiceSectionProps {
  readonly deviceIdentifier: string
  readonly serviceIdentifier: string
  readonly service: ServiceView
  readonly schema: Schema | undefined
  readonly history: ValueHistory
  readonly isConnected: boolean
}

/** A service may have a thousand properties; this number is shown first. */
const shownFirst = 40

/** The properties of a service, named by its schema if there is one. */
export function ServiceSection(props: ServiceSectionProps) {
  const { deviceIdentifier, serviceIdentifier, service, schema, history, isConnected } = props
  const [isExpanded, setExpanded] = useState(false)
  const mayWrite = mayI('service', 'update', { deviceIdentifier, serviceIdentifier })
  const properties = [...service.values()]
  const shown = isExpanded ? properties : properties.slice(0, shownFirst)
  const title = schema?.name ?? serviceIdentifier
  return (
    <Section
      title={title}
      beside={schema ? <span class="soft">{schema.description}</span> : <span class="soft">without a schema</span>}
    >
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard */}
      <section class="table-frame" aria-label={`Properties of ${title}`} tabIndex={0}>
        <table class="table properties">
          <caption class="hidden">Properties of {title}</caption>
          <thead>
            <tr>
              <th scope="col">Property</th>
              <th scope="col" class="end">
                Value
              </th>
              <th scope="col">Over time</th>
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
                place={{ deviceIdentifier, serviceIdentifier }}
                property={property}
                about={aboutOf(schema, property.propId)}
                points={history.of(serviceIdentifier, property.propId)}
                mayWrite={mayWrite}
                isConnected={isConnected}
              />
            ))}
          </tbody>
        </table>
      </section>
      {shown.length < properties.length && (
        <p>
          <Button onPress={() => setExpanded(true)}>Show all {properties.length} properties</Button>
        </p>
      )}
    </Section>
  )
}

/** Enough for a small chart: five minutes of a device that reports each second. */
const pointsMax = 300

/** Records every number at each rendering, because a device is a new object after each change. */
export function useHistory(device: DeviceView | undefined): ValueHistory {
  const history = useRef(new ValueHistory())
  const recorded = useRef<DeviceView>()
  if (device && device !== recorded.current) {
    recorded.current = device
    history.current.record(device)
  }
  return history.current
}

/** The numbers of a device since the page was opened. */
export class ValueHistory {
  readonly #buffers = new Map<string, PointBuffer>()

  of(serviceIdentifier: string, propId: number): PointBuffer {
    const key = `${serviceIdentifier}/${propId}`
    let buffer = this.#buffers.get(key)
    if (!buffer) {
      buffer = new PointBuffer(pointsMax)
      this.#buffers.set(key, buffer)
    }
    return buffer
  }

  record({ services }: DeviceView): void {
    for (const [serviceIdentifier, service] of services) {
      for (const [propId, { value, timestamp }] of service) {
        const number = numberOf(value)
        if (number !== undefined) this.of(serviceIdentifier, propId).add(timestamp ?? client.now(), number)
      }
    }
  }
}
