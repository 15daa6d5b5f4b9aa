import { useMemo, useState } from 'preact/hooks'
import type { Body } from '#client/client'
import { type Binding, bindingInWords, bodyOfBinding } from '#dashboard/binding/binding'
import { BindingEditor } from '#dashboard/binding/binding-editor'
import { useGroups, useSchemas, useTarget } from '#dashboard/binding/known-names'
import { ServiceField } from '#dashboard/binding/service-field'
import { boundDevices } from '#dashboard/binding/target'
import { Button } from '#dashboard/components/button'
import { type Editing, EditPage } from '#dashboard/components/edit-page'
import { Empty } from '#dashboard/components/empty-state'
import { NumberField, Select, TextField } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { Loading, Section } from '#dashboard/components/page'
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
import { type Alarm, rowsOfAlarm } from '#dashboard/pages/alarms/alarm-rows'
import type { PageProps } from '#dashboard/routes'
import { client, mayUser } from '#dashboard/session'
import { liveState } from '#dashboard/state'
import type { StatusRow } from '#dashboard/values/alarm-order'
import type { Condition } from '#model/condition'

/** An alarm, or a new alarm if the id is `new`. */
export default function AlarmPage({ params: { id = '' } }: PageProps) {
  const isNew = id === 'new'
  const parameters = { alarmId: id }
  return (
    <EditPage<Alarm, AlarmBody>
      kind="alarm"
      list="/alarms"
      isNew={isNew}
      read={async () => (isNew ? undefined : client.call('GET /alarms/:alarmId', { parameters }))}
      save={(body, precondition) =>
        isNew
          ? client.call('POST /alarms', { body })
          : client.call('PUT /alarms/:alarmId', { ...precondition, parameters, body })
      }
      remove={() => client.call('DELETE /alarms/:alarmId', { parameters })}
      mayDelete={mayUser('alarms', 'delete')}
      deleteEffect="Devices with this alarm become inactive, and functions with it as trigger no longer run."
      forbidden="An alarm needs permission to read this service on all of these devices."
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

/** The number of rows that are shown at first. */
const pageRows = 100

const columns: readonly Column<StatusRow>[] = [
  {
    key: 'device',
    title: 'Device',
    cell: ({ deviceIdentifier }) => <DeviceLink device={deviceIdentifier} />,
  },
  {
    key: 'state',
    title: 'Status',
    cell: ({ active }) => <Status state={active ? 'active' : 'inactive'} tone={active ? 'bad' : 'quiet'} />,
  },
  { key: 'since', title: 'Since', cell: ({ since }) => <Time at={since} /> },
]

/** The devices on which the alarm is active, and its property on them over time. */
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

interface DeviceStatusProps {
  readonly alarm: Alarm
  readonly rows: readonly StatusRow[]
}

function DeviceStatusSection({ alarm, rows }: DeviceStatusProps) {
  const { alarms, schemas } = liveState()
  const [shown, setShown] = useState(pageRows)
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
        rows={rows.slice(0, shown)}
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
      {rows.length > shown && (
        <div>
          <Button onPress={() => setShown(shown + pageRows)}>Show more of {rows.length}</Button>
        </div>
      )}
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

const severities = [
  { value: 'info', label: 'info' },
  { value: 'warning', label: 'warning' },
  { value: 'critical', label: 'critical' },
] as const

function AlarmForm({ start, touch, save, form }: Editing<Alarm, AlarmBody>) {
  const [draft, setDraft] = useState<Draft>(() => draftOf(start))
  const [isChecked, setChecked] = useState(false)
  const groups = useGroups()
  const schema = useSchemas().get(draft.serviceIdentifier)
  const devices = useMemo(() => boundDevices(draft.binding, groups ?? []), [draft.binding, groups])
  const { sample, warning } = useTarget({ service: draft.serviceIdentifier, devices })
  const operands = useMemo(() => operandsOf(schema, sample), [schema, sample])
  const set = (change: Partial<Draft>) => {
    setDraft((before) => ({ ...before, ...change }))
    touch()
  }
  const submit = async () => {
    setChecked(true)
    const { binding, condition, forSeconds, ...rest } = draft
    if (condition === undefined) throw new Error('The condition is incomplete')
    await save({ ...rest, ...bodyOfBinding(binding), condition, ...(forSeconds && { forSeconds }) })
  }
  return (
    <Form {...form} onSubmit={submit}>
      <TextField
        label="Name"
        value={draft.name}
        onInput={(name) => set({ name })}
        maxLength={128}
        isRequired
        placeholder="Too warm"
        path="name"
      />
      <Select
        label="Severity"
        value={draft.severity}
        options={severities}
        onChange={(severity) => set({ severity })}
        path="severity"
      />
      <ServiceField
        hint="The service with the properties of the condition."
        value={draft.serviceIdentifier}
        onChange={(serviceIdentifier) => set({ serviceIdentifier })}
        warning={warning}
        path="serviceIdentifier"
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
        value={draft.forSeconds}
        onInput={(forSeconds) => set({ forSeconds })}
        min={0}
        max={604_800}
        step={1}
        path="forSeconds"
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
    <dl class="facts">
      <dt>Service</dt>
      <dd>{schemas.get(serviceIdentifier)?.name ?? <code>{serviceIdentifier}</code>}</dd>
      <dt>Active if</dt>
      <dd>{conditionInWords(condition, operandsOf(schemas.get(serviceIdentifier)))}</dd>
      <dt>For at least</dt>
      <dd>{forSeconds} s</dd>
      <dt>Devices</dt>
      <dd>{bindingInWords(alarm, groups)}</dd>
      <dt>Changed</dt>
      <dd>
        <Time at={updatedAt} />
      </dd>
    </dl>
  )
}

function draftOf(alarm: Alarm | undefined): Draft {
  const {
    name = '',
    severity = 'warning',
    serviceIdentifier = '',
    condition,
    forSeconds,
    devices,
    groups,
  } = alarm ?? {}
  return {
    name,
    severity,
    serviceIdentifier,
    condition,
    forSeconds: forSeconds || undefined,
    binding: { devices, groups },
  }
}
