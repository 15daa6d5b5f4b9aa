import '#dashboard/pages/alarms/alarms.css'
import { bindingInWords, idOf } from '#dashboard/binding/binding'
import { siteOfDevice, useDevices, useGroups, useSchemas } from '#dashboard/binding/known-names'
import { apiCommand } from '#dashboard/commands'
import { Checkbox, Select, TextField, useField } from '#dashboard/components/fields'
import { Link, navigateTo, pathOf } from '#dashboard/components/link'
import { CallResult, Empty, Loading, Page, Section } from '#dashboard/components/page'
import { Badge, Status } from '#dashboard/components/status'
import { type Column, Table } from '#dashboard/components/table'
import { Time } from '#dashboard/components/time'
import { useCall, useRefreshOnEvents } from '#dashboard/components/use-call'
import { useObservable } from '#dashboard/components/use-observable'
import { conditionInWords, operandsOf } from '#dashboard/conditions/rows'
import { deviceColumn, useAcknowledgedColumn } from '#dashboard/pages/alarms/status-columns'
import { client, liveState, mayUser } from '#dashboard/session'
import { type Alarm, bySeverityAndAge, type StatusRow, severityOrder } from '#dashboard/values/alarm-order'
import { countText } from '#dashboard/values/format-value'
import { groupBy } from '#dashboard/values/group-by'

/** All alarms, and where they are active now. */
export default function AlarmsPage() {
  const called = useCall(() => client.call('GET /alarms'), [])
  useRefreshOnEvents(called, 'ALARM_CONFIG')
  const { alarms: live } = liveState()
  const rows = [...useObservable(live).values()].filter((row) => row.active)
  const active = groupBy(rows, ({ resourceIdentifier }) => resourceIdentifier)
  const count = called.value?.filter(({ resourceIdentifier }) => active.has(resourceIdentifier)).length ?? 0
  return (
    <Page
      title="Alarms"
      beside={count > 0 && <Badge tone="bad">{count} active</Badge>}
      actions={
        mayUser('alarms', 'create') && (
          <Link to="/alarms/new" class="button primary">
            New alarm
          </Link>
        )
      }
    >
      <CallResult call={called}>
        {(alarms) => (
          <>
            <ActiveAlarms alarms={alarms} rows={rows} />
            <AlarmList alarms={alarms} active={active} isComplete={live.isComplete} />
          </>
        )}
      </CallResult>
    </Page>
  )
}

/** Every device on which an alarm is active: the most severe alarms first, then the oldest. */
function ActiveAlarms({ alarms, rows }: { readonly alarms: readonly Alarm[]; readonly rows: readonly StatusRow[] }) {
  const site = useField('')
  const openOnly = useField(false)
  const acknowledged = useAcknowledgedColumn()
  useDevices(rows.map(({ deviceIdentifier }) => deviceIdentifier))
  if (rows.length === 0) return null
  const names = new Map(alarms.map((alarm) => [alarm.resourceIdentifier, alarm.name]))
  const sites = [...new Set(rows.flatMap(({ deviceIdentifier }) => siteOfDevice(deviceIdentifier) ?? []))].sort()
  const selected = rows
    .filter((row) => site.value === '' || siteOfDevice(row.deviceIdentifier) === site.value)
    .filter((row) => !(openOnly.value && row.acknowledged))
    .sort(bySeverityAndAge)
  const columns: readonly Column<StatusRow>[] = [
    { title: 'Severity', cell: ({ severity = '–' }) => <Status state={severity} /> },
    {
      title: 'Alarm',
      isHeading: true,
      cell: (row) => (
        <Link to={pathOfAlarm(row)}>{names.get(row.resourceIdentifier) ?? idOf(row.resourceIdentifier)}</Link>
      ),
    },
    deviceColumn,
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
            {...site}
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

/** By resource name of the alarm; without alarms that are active on no device. */
type ActiveRows = ReadonlyMap<string, readonly StatusRow[]>

interface AlarmListProps {
  readonly alarms: readonly Alarm[]
  readonly active: ActiveRows
  readonly isComplete: boolean
}

function AlarmList({ alarms, active, isComplete }: AlarmListProps) {
  const search = useField('')
  const activeOnly = useField(false)
  const groups = useGroups() ?? []
  const schemas = useSchemas()
  if (alarms.length === 0) return <NoAlarms />
  const serviceOf = ({ serviceIdentifier }: Alarm) => schemas.get(serviceIdentifier)?.name ?? serviceIdentifier
  const columns: readonly Column<Alarm>[] = [
    { title: 'Name', cell: (alarm) => <Link to={pathOfAlarm(alarm)}>{alarm.name}</Link> },
    { title: 'Severity', cell: ({ severity }) => <Status state={severity} /> },
    {
      title: 'Status',
      cell: (alarm) => <AlarmStatus rows={active.get(alarm.resourceIdentifier) ?? (isComplete ? [] : undefined)} />,
    },
    {
      title: 'Condition',
      isText: true,
      cell: (alarm) => (
        <>
          {conditionInWords(alarm.condition, operandsOf(schemas.get(alarm.serviceIdentifier)))}
          {alarm.forSeconds > 0 && <span class="soft"> for {alarm.forSeconds} s</span>}
          <br />
          <small class="soft">{serviceOf(alarm)}</small>
        </>
      ),
    },
    { title: 'Devices', cell: (alarm) => bindingInWords(alarm, groups) },
  ]
  const shown = sortedAlarms(alarms, active).filter(
    (alarm) =>
      (!activeOnly.value || active.has(alarm.resourceIdentifier)) &&
      `${alarm.name} ${alarm.serviceIdentifier} ${serviceOf(alarm)}`
        .toLowerCase()
        .includes(search.value.trim().toLowerCase()),
  )
  return (
    <>
      <div class="alarm-filters">
        <TextField label="Search" type="search" {...search} placeholder="Name or service" />
        <Checkbox label="Only active" {...activeOnly} />
      </div>
      <Section title={countText(shown.length, 'alarm')}>
        <Table
          caption="Alarms, active ones first"
          columns={columns}
          rows={shown}
          rowKey={({ resourceIdentifier }) => resourceIdentifier}
          onRow={(alarm) => navigateTo(pathOfAlarm(alarm))}
          empty={
            activeOnly.value && !isComplete ? (
              <Loading text="Loading their status…" />
            ) : (
              <Empty title={activeOnly.value && search.value === '' ? 'No active alarms' : 'No alarms found'}>
                <p>Clear the search and the filter to see all {alarms.length}.</p>
              </Empty>
            )
          }
        />
      </Section>
    </>
  )
}

/** Active alarms first, by severity and name; then the other alarms by name. */
function sortedAlarms(alarms: readonly Alarm[], active: ActiveRows): readonly Alarm[] {
  const isActive = ({ resourceIdentifier }: Alarm) => active.has(resourceIdentifier)
  return alarms.toSorted(
    (a, b) =>
      Number(isActive(b)) - Number(isActive(a)) ||
      (isActive(a) ? severityOrder[a.severity] - severityOrder[b.severity] : 0) ||
      a.name.localeCompare(b.name),
  )
}

/** `rows`: the devices on which the alarm is active; undefined: not known yet. */
function AlarmStatus({ rows }: { readonly rows: readonly StatusRow[] | undefined }) {
  if (!rows) return <span class="soft">…</span>
  if (rows.length === 0) return <Status state="quiet" tone="quiet" />
  const since = rows.reduce((earliest, row) => Math.min(earliest, row.since), Number.POSITIVE_INFINITY)
  return (
    <Status state="active" tone="bad">
      active on {countText(rows.length, 'device')}, since <Time at={since} />
    </Status>
  )
}

const example = {
  name: 'Too warm',
  severity: 'warning',
  serviceIdentifier: 'climate',
  condition: { '>': [{ var: 'temperature' }, 30] },
}

function NoAlarms() {
  return (
    <Empty
      title="No alarms"
      command={mayUser('alarms', 'create') ? apiCommand('-X POST', '/alarms', example) : undefined}
    >
      <p>
        An alarm is a condition on devices, such as a temperature above 30. It shows on which devices the condition is
        true.
      </p>
      {mayUser('alarms', 'create') ? (
        <p>
          <Link to="/alarms/new">Create the first one</Link>, or send it to the API:
        </p>
      ) : (
        <p>Creating an alarm needs permission to create alarms.</p>
      )}
    </Empty>
  )
}

function pathOfAlarm({ resourceIdentifier }: Pick<Alarm, 'resourceIdentifier'>): string {
  return pathOf('alarms', idOf(resourceIdentifier))
}
