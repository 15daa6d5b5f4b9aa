import { useMemo, useState } from 'preact/hooks'
import type { Body } from '#client/client'
import { type Binding, bindingInWords, bodyOfBinding } from '#dashboard/binding/binding'
import { BindingEditor } from '#dashboard/binding/binding-editor'
import { useGroups, useSchemas, useTarget } from '#dashboard/binding/known-names'
import { ServiceField } from '#dashboard/binding/service-field'
import { boundDevices } from '#dashboard/binding/target'
import { type Editing, EditPage } from '#dashboard/components/edit-page'
import { NumberField, Select, TextField, useFields } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { Empty, Facts, Loading, Section } from '#dashboard/components/page'
import { Badge, Status } from '#dashboard/components/status'
import { type Column, Table } from '#dashboard/components/table'
import { Time } from '#dashboard/components/time'
import { useObservable } from '#dashboard/components/use-observable'
import { ConditionEditor } from '#dashboard/conditions/condition-editor'
import { operandsOf } from '#dashboard/conditions/operands'
import { conditionInWords } from '#dashboard/conditions/rows'
import { useAcknowledgedColumn } from '#dashboard/pages/alarms/acknowledged-column'
import { DeviceLink } from '#dashboard/pages/alarms/active-alarms'
import { AlarmChart } from '#dashboard/pages/alarms/alarm-chart'
import { AlarmHistory } from '#dashboard/pages/alarms/alarm-history'
import type { PageProps } from '#dashboard/routes'
import { client, mayUser } from '#dashboard/session'
import { liveState } from '#dashboard/state'
import type { Alarm, StatusRow } from '#dashboard/values/alarm-order'
import type { Condition } from '#model/condition'

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

const columns: readonly Column<StatusRow>[] = [
  { title: 'Device', cell: ({ deviceIdentifier }) => <DeviceLink device={deviceIdentifier} /> },
  {
    title: 'Status',
    cell: ({ active }) => <Status state={active ? 'active' : 'inactive'} tone={active ? 'bad' : 'quiet'} />,
  },
  { title: 'Since', cell: ({ since }) => <Time at={since} /> },
]

/** The devices on which the alarm is or was active, its property over time, and its changes. */
function LiveStatus({ alarm }: { readonly alarm: Alarm }) {
  const rows = rowsOfAlarm(useObservable(liveState().alarms).values(), alarm.resourceIdentifier)
  return (
    <>
      <DeviceStatusSection alarm={alarm} rows={rows} />
      <AlarmChart alarm={alarm} rows={rows} />
      <AlarmHistory alarm={alarm} />
    </>
  )
}

/** The rows of one alarm: the active rows first, each part with the newest first. */
function rowsOfAlarm(rows: Iterable<StatusRow>, resourceIdentifier: string): readonly StatusRow[] {
  return [...rows]
    .filter((row) => row.resourceIdentifier === resourceIdentifier)
    .sort((a, b) => Number(b.active) - Number(a.active) || b.since - a.since)
}

interface DeviceStatusProps {
  readonly alarm: Alarm
  readonly rows: readonly StatusRow[]
}

function DeviceStatusSection({ alarm, rows }: DeviceStatusProps) {
  const { alarms, schemas } = liveState()
  const acknowledged = useAcknowledgedColumn()
  const active = rows.filter((row) => row.active).length
  return (
    <Section
      title="Status by device"
      beside={
        <Badge tone={active > 0 ? 'bad' : 'quiet'}>{alarms.isComplete ? active : `${active || ''}…`} active</Badge>
      }
    >
      <Table
        caption={`Devices on which ${alarm.name} is or was active`}
        columns={[...columns, acknowledged]}
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
  )
}

type AlarmBody = Body<'POST /alarms'>

interface Draft {
  readonly name: string
  readonly severity: Alarm['severity']
  readonly serviceIdentifier: string
  readonly condition: Condition | undefined
  readonly forSeconds: number | undefined
  readonly binding: Binding
}

const severities = (['info', 'warning', 'critical'] as const).map((value) => ({ value, label: value }))

function AlarmForm({ start, touch, save, form }: Editing<Alarm, AlarmBody>) {
  const { values: draft, set, field } = useFields<Draft>(() => draftOf(start), touch)
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

function draftOf(alarm: Alarm | undefined): Draft {
  const { name = '', severity = 'warning', serviceIdentifier = '', condition, devices, groups } = alarm ?? {}
  const forSeconds = alarm?.forSeconds || undefined
  return { name, severity, serviceIdentifier, condition, forSeconds, binding: { devices, groups } }
}
