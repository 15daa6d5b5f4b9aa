import { useState } from 'preact/hooks'
import { bindingInWords, idOf } from '#dashboard/binding/binding'
import { useGroups, useSchemas } from '#dashboard/binding/known-names'
import { apiCommand } from '#dashboard/commands'
import { Empty } from '#dashboard/components/empty-state'
import { Checkbox, TextField } from '#dashboard/components/fields'
import { Link, navigateTo, pathOf } from '#dashboard/components/link'
import { CallResult, Loading, Page, Section } from '#dashboard/components/page'
import { Badge, Status } from '#dashboard/components/status'
import { type Column, Table } from '#dashboard/components/table'
import { Time } from '#dashboard/components/time'
import { useCall, useRefreshOnEvents } from '#dashboard/components/use-call'
import { useObservable } from '#dashboard/components/use-observable'
import { operandsOf } from '#dashboard/conditions/operands'
import { conditionInWords } from '#dashboard/conditions/rows'
import { ActiveAlarms } from '#dashboard/pages/alarms/active-alarms'
import {
  type Alarm,
  type AlarmSummary,
  alarmSummaries,
  inactiveSummary,
  sortedAlarms,
} from '#dashboard/pages/alarms/alarm-rows'
import { client, mayUser } from '#dashboard/session'
import { liveState } from '#dashboard/state'
import { countText } from '#dashboard/values/format-value'
import '#dashboard/pages/alarms/alarms.css'

/** All alarms, and where they are active now. */
export default function AlarmsPage() {
  const called = useCall(() => client.call('GET /alarms'), [])
  useRefreshOnEvents(called, 'ALARM_CONFIG')
  const { alarms: live } = liveState()
  const rows = [...useObservable(live).values()].filter((row) => row.active)
  const summaries = alarmSummaries(rows)
  const active = called.value?.filter(({ resourceIdentifier }) => summaries.has(resourceIdentifier)).length ?? 0
  return (
    <Page
      title="Alarms"
      beside={called.value && active > 0 && <Badge tone="bad">{active} active</Badge>}
      actions={mayUser('alarms', 'create') && <NewAlarm />}
    >
      <CallResult call={called}>
        {(alarms) => (
          <>
            <ActiveAlarms alarms={alarms} rows={rows} />
            <AlarmList alarms={alarms} summaries={summaries} isComplete={live.isComplete} />
          </>
        )}
      </CallResult>
    </Page>
  )
}

function NewAlarm() {
  return (
    <Link to="/alarms/new" class="button primary">
      New alarm
    </Link>
  )
}

interface AlarmListProps {
  readonly alarms: readonly Alarm[]
  readonly summaries: ReadonlyMap<string, AlarmSummary>
  readonly isComplete: boolean
}

function AlarmList({ alarms, summaries, isComplete }: AlarmListProps) {
  const [search, setSearch] = useState('')
  const [isActiveOnly, setActiveOnly] = useState(false)
  const columns = useColumns(summaries, isComplete)
  if (alarms.length === 0) return <NoAlarms />
  const schemas = useSchemas()
  const shown = sortedAlarms(alarms, summaries).filter(
    (alarm) =>
      (!isActiveOnly || summaries.has(alarm.resourceIdentifier)) &&
      `${alarm.name} ${alarm.serviceIdentifier} ${schemas.get(alarm.serviceIdentifier)?.name}`
        .toLowerCase()
        .includes(search.trim().toLowerCase()),
  )
  return (
    <>
      <div class="alarm-filters">
        <TextField label="Search" type="search" value={search} onInput={setSearch} placeholder="Name or service" />
        <Checkbox label="Only active" isChecked={isActiveOnly} onChange={setActiveOnly} />
      </div>
      <Section title={countText(shown.length, 'alarm')}>
        <Table
          caption="Alarms, active ones first"
          columns={columns}
          rows={shown}
          rowKey={({ resourceIdentifier }) => resourceIdentifier}
          onRow={(alarm) => navigateTo(pathOfAlarm(alarm))}
          empty={
            isActiveOnly && !isComplete ? (
              <Loading text="Loading their status…" />
            ) : (
              <Empty title={isActiveOnly && search === '' ? 'No active alarms' : 'No alarms found'}>
                <p>Clear the search and the filter to see all {alarms.length}.</p>
              </Empty>
            )
          }
        />
      </Section>
    </>
  )
}

function useColumns(summaries: ReadonlyMap<string, AlarmSummary>, isComplete: boolean): readonly Column<Alarm>[] {
  const groups = useGroups() ?? []
  const schemas = useSchemas()
  return [
    {
      key: 'name',
      title: 'Name',
      cell: (alarm) => <Link to={pathOfAlarm(alarm)}>{alarm.name}</Link>,
    },
    { key: 'severity', title: 'Severity', cell: ({ severity }) => <Status state={severity} /> },
    {
      key: 'state',
      title: 'Status',
      cell: (alarm) => (
        <AlarmStatus summary={summaries.get(alarm.resourceIdentifier) ?? (isComplete ? inactiveSummary : undefined)} />
      ),
    },
    {
      key: 'condition',
      title: 'Condition',
      isText: true,
      cell: ({ condition, serviceIdentifier, forSeconds }) => (
        <>
          {conditionInWords(condition, operandsOf(schemas.get(serviceIdentifier)))}
          {forSeconds > 0 && <span class="soft"> for {forSeconds} s</span>}
          <br />
          <small class="soft">{schemas.get(serviceIdentifier)?.name ?? serviceIdentifier}</small>
        </>
      ),
    },
    { key: 'binding', title: 'Devices', cell: (alarm) => bindingInWords(alarm, groups) },
  ]
}

/** `summary` undefined: the status is not known yet. */
function AlarmStatus({ summary }: { readonly summary: AlarmSummary | undefined }) {
  if (!summary) return <span class="soft">…</span>
  const { active, since } = summary
  if (active === 0) return <Status state="quiet" tone="quiet" />
  return (
    <Status state="active" tone="bad">
      active on {countText(active, 'device')}, since <Time at={since} />
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

function pathOfAlarm({ resourceIdentifier }: Alarm): string {
  return pathOf('alarms', idOf(resourceIdentifier))
}
