import { useRef } from 'preact/hooks'
import { useGroups, useSchemas } from '#dashboard/binding/known-names'
import { boundDevices } from '#dashboard/binding/target'
import { useDevices } from '#dashboard/binding/use-devices'
import { Section } from '#dashboard/components/page'
import { useCall } from '#dashboard/components/use-call'
import { operandsOf } from '#dashboard/conditions/operands'
import { type ChartSeries, isNumeric, seriesOf } from '#dashboard/history/chart-series'
import { LazyChart } from '#dashboard/history/lazy-chart'
import { watchedProperty } from '#dashboard/pages/alarms/watched-property'
import { client } from '#dashboard/session'
import { liveState } from '#dashboard/state'
import type { Alarm, StatusRow } from '#dashboard/values/alarm-order'
import { schemaOfProperty } from '#dashboard/values/format-value'

export interface AlarmChartProps {
  readonly alarm: Alarm
  /** The devices on which the alarm is or was active; first the devices on which it is active. */
  readonly rows: readonly StatusRow[]
}

/** The initial number of devices; the user may add others. */
const devicesShown = 3
/** More devices are read than shown, because some have no number in the property. */
const devicesTried = 20

/** A chart of the property of an alarm, with its thresholds. It begins with devices on which the alarm is active. */
export function AlarmChart({ alarm, rows }: AlarmChartProps) {
  const { devices, alarms } = liveState()
  const schema = useSchemas().get(alarm.serviceIdentifier)
  const groups = useGroups() ?? []
  const { serviceIdentifier } = alarm
  const some = useCall(() => {
    const filter = JSON.stringify({ var: `services.${serviceIdentifier}` })
    return client.call('GET /devices', { query: { filter, limit: devicesTried } })
  }, [serviceIdentifier])
  const active = rows.slice(0, devicesTried).map(({ deviceIdentifier }) => deviceIdentifier)
  const bound = boundDevices(alarm, groups)?.slice(0, devicesTried)
  const others = bound ?? some.value?.map(({ deviceIdentifier }) => deviceIdentifier)
  const isRead = useDevices([...active, ...(others ?? [])]) && others !== undefined && alarms.isComplete
  const watched = watchedProperty(alarm.condition, operandsOf(schema))
  // The chart keeps its devices when the alarm becomes active or inactive on other devices.
  const shown = useRef<readonly ChartSeries[]>([])
  if (watched && isRead && shown.current[0]?.propId !== watched.propId) {
    shown.current = seriesAmong(active)
    if (shown.current.length === 0) shown.current = seriesAmong(others)
  }
  if (!watched || shown.current.length === 0) return null
  return (
    <Section title="History">
      <LazyChart series={shown.current} thresholds={watched.thresholds} />
    </Section>
  )

  function seriesAmong(identifiers: readonly string[]): readonly ChartSeries[] {
    const found: ChartSeries[] = []
    for (const deviceIdentifier of identifiers) {
      const propId = watched?.propId ?? 0
      const property = devices.get(deviceIdentifier)?.services.get(serviceIdentifier)?.get(propId)
      if (!property || !isNumeric(property, schemaOfProperty(schema, propId))) continue
      found.push(seriesOf({ deviceIdentifier, serviceIdentifier }, propId, schema))
      if (found.length === devicesShown) break
    }
    return found
  }
}
