import { useMemo, useRef, useState } from 'preact/hooks'
import type { Body, Item } from '#client/client'
import { type Binding, bindingInWords, bodyOfBinding, idOf } from '#dashboard/binding/binding'
import { BindingEditor, ServiceField } from '#dashboard/binding/binding-fields'
import { useDevices, useGroups, useSchemas, useTarget } from '#dashboard/binding/known-names'
import { boundDevices } from '#dashboard/binding/target'
import { type Editing, EditPage } from '#dashboard/components/edit-page'
import { NumberField, Select, TextField, useFields } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { Empty, Facts, Loading, Section } from '#dashboard/components/page'
import { Badge, Status } from '#dashboard/components/status'
import { type Column, PagedTable, Table } from '#dashboard/components/table'
import { Time } from '#dashboard/components/time'
import { useCall, usePagedList, useRefreshOnEvents } from '#dashboard/components/use-call'
import { useObservable } from '#dashboard/components/use-observable'
import { ConditionEditor } from '#dashboard/conditions/condition-editor'
import { conditionInWords, operandsOf, watchedProperty } from '#dashboard/conditions/rows'
import { type ChartSeries, isNumeric, seriesOf } from '#dashboard/history/chart-series'
import { LazyChart } from '#dashboard/history/lazy-chart'
import { deviceColumn, useAcknowledgedColumn, usePrincipalNames } from '#dashboard/pages/alarms/status-columns'
import type { PageProps } from '#dashboard/routes'
import { client, liveState, mayUser } from '#dashboard/session'
import type { Alarm, StatusRow } from '#dashboard/values/alarm-order'
import { schemaOfProperty } from '#dashboard/values/format-value'

/** An alarm, or a new alarm if the id is `new`. */
export default function AlarmPage({ params: { id = '' } }: PageProps) {
  const isNew = id === 'new'
  const parameters = { alarmId: id }
  return (
    <EditPage<Alarm, AlarmBody>
      kind="alarm"
      listPath="/alarms"
      isNew={isNew}
      read={() => client.call('GET /alarms/:alarmId', { parameters })}
      create={(body) => client.call('POST /alarms', { body })}
      save={(body, precondition) => client.call('PUT /alarms/:alarmId', { ...precondition, parameters, body })}
      remove={() => client.call('DELETE /alarms/:alarmId', { parameters })}
      mayDelete={mayUser('alarms', 'delete')}
      deleteEffect="The alarm becomes inactive on all devices, and no longer triggers functions."
      notFoundText="An alarm needs permission to read this service on all of these devices."
      events="ALARM_CONFIG"
      beside={(alarm) => alarm && <Status state={alarm.severity} />}
    >
      {(editing) => (
        <>
          {editing.start && <LiveStatus alarm={editing.start} />}
          <Section title="Alarm">
            {isNew || mayUser('alarms', 'update') || !editing.start ? (
              <AlarmForm {...editing} />
            ) : (
              <AlarmFacts alarm={editing.start} />
            )}
          </Section>
        </>
      )}
    </EditPage>
  )
}

const statusColumns: readonly Column<StatusRow>[] = [
  deviceColumn,
  {
    title: 'Status',
    cell: ({ active }) => <Status state={active ? 'active' : 'inactive'} tone={active ? 'bad' : 'quiet'} />,
  },
  { title: 'Since', cell: ({ since }) => <Time at={since} /> },
]

interface LiveStatusProps {
  readonly alarm: Alarm
  /** The devices on which the alarm is or was active; first the devices on which it is active. */
  readonly rows: readonly StatusRow[]
}

/** The devices on which the alarm is or was active, its property over time, and its changes. */
function LiveStatus({ alarm }: Pick<LiveStatusProps, 'alarm'>) {
  const { alarms, schemas } = liveState()
  const acknowledged = useAcknowledgedColumn()
  // The active rows first, each part with the newest first.
  const rows = [...useObservable(alarms).values()]
    .filter((row) => row.resourceIdentifier === alarm.resourceIdentifier)
    .sort((a, b) => Number(b.active) - Number(a.active) || b.since - a.since)
  const active = rows.filter((row) => row.active).length
  return (
    <>
      <Section
        title="Status by device"
        beside={
          <Badge tone={active > 0 ? 'bad' : 'quiet'}>{alarms.isComplete ? active : `${active || ''}…`} active</Badge>
        }
      >
        <Table
          caption={`Devices on which ${alarm.name} is or was active`}
          columns={[...statusColumns, acknowledged]}
          rows={rows}
          pageRows={100}
          rowKey={({ deviceIdentifier }) => deviceIdentifier}
          empty={
            !alarms.isComplete ? (
              <Loading text="Loading its status…" />
            ) : (
              <Empty title="Not active on any device so far">
                <p>
                  Devices appear here when the condition is true for them. If one is missing, check that it has the
                  service {schemas.get(alarm.serviceIdentifier)?.name ?? alarm.serviceIdentifier} and that the property
                  has a value.
                </p>
              </Empty>
            )
          }
        />
      </Section>
      <AlarmChart alarm={alarm} rows={rows} />
      <AlarmHistory alarm={alarm} />
    </>
  )
}

type AlarmBody = Body<'POST /alarms'>

const severities = (['info', 'warning', 'critical'] as const).map((value) => ({ value, label: value }))

function AlarmForm({ start, touch, save, form }: Editing<Alarm, AlarmBody>) {
  const first = () => {
    const { name = '', severity = 'warning', serviceIdentifier = '', condition, devices, groups } = start ?? {}
    const forSeconds = start?.forSeconds || undefined
    return { name, severity, serviceIdentifier, condition, forSeconds, binding: { devices, groups } as Binding }
  }
  const { values: draft, set, field } = useFields(first, touch)
  const [isChecked, setChecked] = useState(false)
  const groups = useGroups()
  const schema = useSchemas().get(draft.serviceIdentifier)
  const devices = useMemo(() => boundDevices(draft.binding, groups ?? []), [draft.binding, groups])
  const { sample, warning } = useTarget({ service: draft.serviceIdentifier, devices })
  const operands = useMemo(() => operandsOf(schema, sample), [schema, sample])
  const submit = async () => {
    setChecked(true)
    const { binding, condition, forSeconds, ...rest } = draft
    if (condition === undefined) throw new Error('The condition is incomplete')
    await save({ ...rest, ...bodyOfBinding(binding), condition, ...(forSeconds && { forSeconds }) })
  }
  return (
    <Form {...form} onSubmit={submit}>
      <TextField label="Name" {...field('name')} maxLength={128} isRequired placeholder="Too warm" />
      <Select label="Severity" {...field('severity')} options={severities} />
      <ServiceField
        hint="The service with the properties of the condition."
        {...field('serviceIdentifier')}
        warning={warning}
      />
      <ConditionEditor
        label="Active if"
        start={draft.condition}
        operands={operands}
        otherName={draft.serviceIdentifier === '' ? 'Choose a service first' : '0x2000'}
        onChange={(condition) => set({ condition })}
        path="condition"
        isChecked={isChecked}
      />
      <NumberField
        label="For at least"
        hint="The condition must be true without interruption for this time. Empty or 0: at once."
        unit="s"
        {...field('forSeconds')}
        min={0}
        max={604_800}
        step={1}
      />
      <BindingEditor
        label="Applies to"
        value={draft.binding}
        onChange={(binding) => set({ binding })}
        groups={groups}
      />
      <p class="hint">
        The user who saves an alarm is its author. It works on devices whose service the author may read.
      </p>
    </Form>
  )
}

function AlarmFacts({ alarm }: { readonly alarm: Alarm }) {
  const schemas = useSchemas()
  const groups = useGroups() ?? []
  const { condition, serviceIdentifier, forSeconds, updatedAt } = alarm
  return (
    <Facts
      facts={{
        Service: schemas.get(serviceIdentifier)?.name ?? <code>{serviceIdentifier}</code>,
        'Active if': conditionInWords(condition, operandsOf(schemas.get(serviceIdentifier))),
        'For at least': `${forSeconds} s`,
        Devices: bindingInWords(alarm, groups),
        Changed: <Time at={updatedAt} />,
      }}
    />
  )
}

/** The initial number of devices; the user may add others. */
const devicesShown = 3
/** More devices are read than shown, because some have no number in the property. */
const devicesTried = 20

/** A chart of the property of an alarm, with its thresholds. It begins with devices on which the alarm is active. */
function AlarmChart({ alarm, rows }: LiveStatusProps) {
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
    const { propId } = watched
    const seriesAmong = (identifiers: readonly string[]) =>
      identifiers
        .filter((device) => {
          const property = devices.get(device)?.services.get(serviceIdentifier)?.get(propId)
          return property && isNumeric(property, schemaOfProperty(schema, propId))
        })
        .slice(0, devicesShown)
        .map((deviceIdentifier) => seriesOf({ deviceIdentifier, serviceIdentifier }, propId, schema))
    const ofActive = seriesAmong(active)
    shown.current = ofActive.length > 0 ? ofActive : seriesAmong(others)
  }
  if (!watched || shown.current.length === 0) return null
  return (
    <Section title="History">
      <LazyChart series={shown.current} thresholds={watched.thresholds} />
    </Section>
  )
}

type HistoryRow = Item<'GET /alarms/history'>

const pageSize = 50

/** What happened to an alarm, newest first. */
function AlarmHistory({ alarm: { resourceIdentifier } }: { readonly alarm: Alarm }) {
  const alarmId = idOf(resourceIdentifier)
  const nameOf = usePrincipalNames()
  const history = usePagedList(
    () => client.pages('GET /alarms/history', { query: { alarmId, limit: `${pageSize}` } }),
    pageSize,
    [alarmId],
  )
  useRefreshOnEvents(history, 'ALARM_STATUS')
  const columns: readonly Column<HistoryRow>[] = [
    { title: 'Time', cell: ({ at }) => <Time at={at} /> },
    deviceColumn,
    {
      title: 'Change',
      cell: ({ type }) => <Status state={type} tone={type === 'ACTIVE' ? 'bad' : 'quiet'} />,
    },
    {
      title: 'Value or comment',
      cell: ({ by, comment, value }) => (by === undefined ? value?.toString() : `${nameOf(by)}: ${comment ?? ''}`),
    },
  ]
  return (
    <Section title="Changes in the last 90 days">
      <PagedTable
        caption="Changes of the alarm, newest first"
        columns={columns}
        paged={history}
        rowKey={({ at, deviceIdentifier, type }) => `${at} ${deviceIdentifier} ${type}`}
        empty={<p>No changes</p>}
      />
    </Section>
  )
}
