import { useState } from 'preact/hooks'
import type { Schema, ServiceView } from '#client/client'
import { PropertyRow } from '#dashboard/pages/device/property-row'
import type { Rings } from '#dashboard/pages/device/use-history'
import { Button } from '#dashboard/parts/button'
import { Section } from '#dashboard/parts/page'
import { mayI } from '#dashboard/session'
import { aboutOf } from '#dashboard/values/format-value'

export interface ServiceSectionProps {
  readonly deviceIdentifier: string
  readonly serviceIdentifier: string
  readonly service: ServiceView
  readonly schema: Schema | undefined
  readonly history: Rings
  /** Whether it can be asked anything at the moment. */
  readonly isLinked: boolean
}

/** As many as anybody reads; a service may have a thousand. */
const shownFirst = 40

/** What a service of the device stands at, named by its schema where there is one. */
export function ServiceSection(props: ServiceSectionProps) {
  const { deviceIdentifier, serviceIdentifier, service, schema, history, isLinked } = props
  const [isWhole, setWhole] = useState(false)
  const mayWrite = mayI('service', 'update', { deviceIdentifier, serviceIdentifier })
  const properties = [...service.values()]
  const shown = isWhole ? properties : properties.slice(0, shownFirst)
  const title = schema?.name ?? serviceIdentifier
  return (
    <Section
      title={title}
      beside={schema ? <span class="soft">{schema.description}</span> : <span class="soft">without a schema</span>}
    >
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard */}
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
                ring={history.of(serviceIdentifier, property.propId)}
                mayWrite={mayWrite}
                isLinked={isLinked}
              />
            ))}
          </tbody>
        </table>
      </section>
      {shown.length < properties.length && (
        <p>
          <Button onPress={() => setWhole(true)}>Show all {properties.length} properties</Button>
        </p>
      )}
    </Section>
  )
}
