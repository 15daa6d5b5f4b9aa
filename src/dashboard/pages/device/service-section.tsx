import { useEffect, useState } from 'preact/hooks'
import type { Answer, Desired, PropertyView, Schema, ServiceView } from '#client/client'
import { Button } from '#dashboard/components/button'
import { Form } from '#dashboard/components/form'
import { Section } from '#dashboard/components/page'
import { Badge, Status } from '#dashboard/components/status'
import { TableFrame } from '#dashboard/components/table'
import { Time } from '#dashboard/components/time'
import { notify } from '#dashboard/components/toasts'
import { isNumeric, seriesKey, seriesOf } from '#dashboard/history/chart-series'
import { LazyChart } from '#dashboard/history/lazy-chart'
import { Sparkline } from '#dashboard/history/sparkline'
import type { SparklinePoints } from '#dashboard/history/sparkline-points'
import { useSparklines } from '#dashboard/history/use-sparklines'
import { ValueField } from '#dashboard/pages/device/value-field'
import { isTrigger, isWritable, parseValue, textOf } from '#dashboard/pages/device/written-value'
import { client, liveState, mayUser } from '#dashboard/session'
import {
  hexOf,
  nameOf,
  numberOf,
  type PropertySchema,
  schemaOfProperty,
  valueText,
  withUnit,
} from '#dashboard/values/format-value'

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

interface PropertyRowProps {
  readonly place: { readonly deviceIdentifier: string; readonly serviceIdentifier: string }
  readonly property: PropertyView
  readonly schema: Schema | undefined
  /** The value that the device should have. */
  readonly desired: Desired[string] | undefined
  /** The points of the last hour, if the property has a chart. */
  readonly points: SparklinePoints | undefined
  readonly mayWrite: boolean
  readonly isConnected: boolean
}

const columns = 5

/** One property. Below it a chart, if it is a number, and a form, if it may be written. */
function PropertyRow(props: PropertyRowProps) {
  const { place, property, schema, desired, points, mayWrite, isConnected } = props
  const [isWriting, setWriting] = useState(false)
  const [isCharted, setCharted] = useState(false)
  const { propId, type, timestamp, tag } = property
  const about = schemaOfProperty(schema, propId)
  const name = nameOf(propId, about)
  const unit = about?.unit
  const canWrite = mayWrite && isWritable(property, about)
  const verb = isTrigger(property, about) ? 'Trigger' : 'Change'
  const title = `${hexOf(propId)} · ${type}${about?.description ? ` · ${about.description}` : ''}`
  return (
    <>
      <tr data-property={propId}>
        <th scope="row" title={title}>
          {name} {property.modifier.isVolatile && <Badge>volatile</Badge>}
        </th>
        <td class="end value">
          {tag === 'error' ? (
            <Status state="failed">{valueText(property, about)}</Status>
          ) : (
            <>
              <strong>{valueText(property, about)}</strong>
              {unit && <span class="unit"> {unit}</span>}
            </>
          )}
          {desired && (
            <div>
              <small>
                desired {withUnit(valueText({ ...property, ...desired, tag: 'value' }, about), unit)}{' '}
                <Status state={desired.status}>{desired.message}</Status>
              </small>{' '}
              {mayWrite && (
                <Button
                  kind="quiet"
                  label={`Remove the desired value of ${name}`}
                  onPress={() => setDesired(place, propId, null)}
                >
                  ×
                </Button>
              )}
            </div>
          )}
        </td>
        <td>
          {isNumeric(property, about) && (
            <button
              type="button"
              class="spark"
              aria-label={`Chart of ${name}`}
              title={`Chart of ${name}`}
              aria-expanded={isCharted}
              onClick={() => setCharted(!isCharted)}
            >
              <Sparkline points={points} current={numberOf(property.value)} />
            </button>
          )}
        </td>
        <td>{timestamp === undefined ? <span class="soft">not yet</span> : <Time at={timestamp} />}</td>
        <td class="end">
          {canWrite && (
            <Button isExpanded={isWriting} label={`${verb} ${name}`} onPress={() => setWriting(!isWriting)}>
              {verb}…
            </Button>
          )}
        </td>
      </tr>
      {isCharted && (
        <tr class="detail-row">
          <td colSpan={columns}>
            <LazyChart series={[seriesOf(place, propId, schema)]} />
          </td>
        </tr>
      )}
      {isWriting && canWrite && (
        <tr class="detail-row">
          <td colSpan={columns}>
            <WriteForm {...{ place, property, about, isConnected }} onClose={() => setWriting(false)} />
          </td>
        </tr>
      )}
    </>
  )
}

/** Sets the desired value of a property; null removes it. */
function setDesired(place: PropertyRowProps['place'], propId: number, value: unknown): Promise<unknown> {
  return client.call('PATCH /devices/:deviceIdentifier/services/:serviceIdentifier/desired', {
    parameters: place,
    body: { [String(propId)]: value },
  })
}

interface WriteFormProps extends Pick<PropertyRowProps, 'place' | 'property' | 'isConnected'> {
  readonly about: PropertySchema | undefined
  readonly onClose: () => void
}

const writeRoute = 'PUT /devices/:deviceIdentifier/services/:serviceIdentifier/properties'

/** Sends a write to the device and shows its answer; the value changes when the device reports it. */
function WriteForm({ place, property, about, isConnected, onClose }: WriteFormProps) {
  const [text, setText] = useState(() => textOf(property, about))
  const [fault, setFault] = useState<string>()
  const [outcome, setOutcome] = useState<Answer<typeof writeRoute>['updates'][number]>()
  const name = nameOf(property.propId, about)
  const change = (next: string) => {
    setText(next)
    setFault(undefined)
    setOutcome(undefined)
  }
  const write = async () => {
    setOutcome(undefined)
    const read = parseValue(text, property, about)
    setFault('fault' in read ? read.fault : undefined)
    if ('fault' in read) return
    if (!isConnected) {
      await setDesired(place, property.propId, read.value)
      notify(`${place.deviceIdentifier} gets ${name} when it connects`)
      onClose()
      return
    }
    const answer = await client.call(writeRoute, { parameters: place, body: { [String(property.propId)]: read.value } })
    const update = answer.updates[0]
    if (!update) return
    setOutcome(update)
    if (update.status === 'OK') notify(`${place.deviceIdentifier} accepted ${name}`)
    else notify(`${place.deviceIdentifier} refused ${name}${update.message ? `: ${update.message}` : ''}`, 'failed')
  }
  return (
    <Form submit={isConnected ? 'Write' : 'Write later'} onSubmit={write} onCancel={onClose} label={`Change ${name}`}>
      {!isConnected && <p class="notice warning">The device is offline: it gets the value when it connects.</p>}
      <ValueField label={name} property={property} about={about} text={text} onText={change} problem={fault} />
      {outcome && (
        <p class="outcome" role="status">
          <Status state={outcome.status === 'OK' ? 'done' : 'rejected'}>
            {outcome.status === 'OK'
              ? 'The device accepted the value.'
              : `The device refused${outcome.message ? `: ${outcome.message}` : ' it.'}`}
          </Status>
        </p>
      )}
    </Form>
  )
}
