import { idOf } from '#dashboard/binding/binding'
import { nameOfDevice, siteOfDevice } from '#dashboard/binding/known-names'
import { useDevices } from '#dashboard/binding/use-devices'
import { Checkbox, Select, useField } from '#dashboard/components/fields'
import { Link, pathOf } from '#dashboard/components/link'
import { Section } from '#dashboard/components/page'
import { Status } from '#dashboard/components/status'
import { type Column, Table } from '#dashboard/components/table'
import { Time } from '#dashboard/components/time'
import { useAcknowledgedColumn } from '#dashboard/pages/alarms/acknowledged-column'
import { type Alarm, bySeverityAndAge, type StatusRow } from '#dashboard/values/alarm-order'
import { countText } from '#dashboard/values/format-value'

export interface ActiveAlarmsProps {
  readonly alarms: readonly Alarm[]
  readonly rows: readonly StatusRow[]
}

/** Every device on which an alarm is active: the most severe alarms first, then the oldest. */
export function ActiveAlarms({ alarms, rows }: ActiveAlarmsProps) {
  const siteField = useField('')
  const openOnly = useField(false)
  const acknowledged = useAcknowledgedColumn()
  useDevices(rows.map(({ deviceIdentifier }) => deviceIdentifier))
  if (rows.length === 0) return null
  const names = new Map(alarms.map((alarm) => [alarm.resourceIdentifier, alarm.name]))
  const { value: site } = siteField
  const sites = [...new Set(rows.flatMap(({ deviceIdentifier }) => siteOfDevice(deviceIdentifier) ?? []))].sort()
  const selected = rows
    .filter((row) => site === '' || siteOfDevice(row.deviceIdentifier) === site)
    .filter((row) => !(openOnly.value && row.acknowledged))
    .sort(bySeverityAndAge)
  const columns: readonly Column<StatusRow>[] = [
    { title: 'Severity', cell: ({ severity = '–' }) => <Status state={severity} /> },
    {
      title: 'Alarm',
      isHeading: true,
      cell: ({ resourceIdentifier }) => {
        const id = idOf(resourceIdentifier)
        return <Link to={pathOf('alarms', id)}>{names.get(resourceIdentifier) ?? id}</Link>
      },
    },
    { title: 'Device', cell: ({ deviceIdentifier }) => <DeviceLink device={deviceIdentifier} /> },
    { title: 'Site', cell: ({ deviceIdentifier }) => siteOfDevice(deviceIdentifier) },
    { title: 'Since', cell: ({ since }) => <Time at={since} /> },
    acknowledged,
  ]
  return (
    <Section title={`Active on ${countText(selected.length, 'device')}`}>
      <div class="alarm-filters">
        {sites.length > 0 && (
          <Select
            label="Site"
            {...siteField}
            options={[{ value: '', label: 'All sites' }, ...sites.map((value) => ({ value, label: value }))]}
          />
        )}
        <Checkbox label="Only not acknowledged" {...openOnly} />
      </div>
      <Table
        caption="Active alarms by device, the most severe first"
        columns={columns}
        rows={selected}
        pageRows={50}
        rowKey={({ resourceIdentifier, deviceIdentifier }) => `${resourceIdentifier} ${deviceIdentifier}`}
      />
    </Section>
  )
}

export function DeviceLink({ device }: { readonly device: string }) {
  useDevices([device])
  return (
    <>
      <Link to={pathOf('devices', device)}>{device}</Link> <span class="soft">{nameOfDevice(device)}</span>
    </>
  )
}
