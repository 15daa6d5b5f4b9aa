import { useMemo, useState } from 'preact/hooks'
import type { Body } from '#client/client'
import { type Binding, bindingInWords, bodyOfBinding, idOf } from '#dashboard/binding/binding'
import { BindingEditor } from '#dashboard/binding/binding-editor'
import { nameOfDevice, useGroups, useSchemas, useTarget } from '#dashboard/binding/known-names'
import { ServiceField } from '#dashboard/binding/service-field'
import { boundDevices } from '#dashboard/binding/target'
import { ConditionEditor } from '#dashboard/conditions/condition-editor'
import { operandsOf } from '#dashboard/conditions/operands'
import { conditionInWords } from '#dashboard/conditions/rows'
import { type Alarm, rowsOfAlarm, type StatusRow } from '#dashboard/pages/alarms/alarm-rows'
import { Button } from '#dashboard/parts/button'
import { ConcurrentEdit } from '#dashboard/parts/concurrent-edit'
import { ConfirmButton } from '#dashboard/parts/dialog'
import { Empty } from '#dashboard/parts/empty'
import { NumberField, Select, TextField } from '#dashboard/parts/fields'
import { Form } from '#dashboard/parts/form'
import { go, Link, pathOf } from '#dashboard/parts/link'
import { CallResult, Loading, Page, Section } from '#dashboard/parts/page'
import { detailUnder } from '#dashboard/parts/problem-text'
import { Badge, Status } from '#dashboard/parts/status'
import { type Column, Table } from '#dashboard/parts/table'
import { Time } from '#dashboard/parts/time'
import { notify } from '#dashboard/parts/toasts'
import { useCall, useRefreshOnEvents } from '#dashboard/parts/use-call'
import { useDraftForm } from '#dashboard/parts/use-draft-form'
import { useObservable } from '#dashboard/parts/use-observable'
import type { PageProps } from '#dashboard/routes'
import { client, mayI } from '#dashboard/session'
import { state } from '#dashboard/state'
import type { Condition } from '#model/condition'

/** An alarm, or a new alarm if the id is `new`. */
export default function AlarmPage({ params: { id = '' } }: PageProps) {
  return id === 'new' ? <NewAlarmPage /> : <OneAlarmPage key={id} id={id} />
}

function NewAlarmPage() {
  return (
    <Page title="New alarm">
      <Section title="Alarm">
        <AlarmForm
          submit="Create alarm"
          onSubmit={async (body) => {
            const made = await client.call('POST /alarms', { body })
            notify(`${made.name} is created`)
            go(pathOf('alarms', idOf(made.resourceIdentifier)), { replace: true })
          }}
        />
      </Section>
    </Page>
  )
}

function OneAlarmPage({ id }: { readonly id: string }) {
  const called = useCall(() => readAlarm(id), [id])
  useRefreshOnEvents(called, 'ALARM_CONFIG')
  const alarm = called.value
  const remove = async () => {
    await client.call('DELETE /alarms/:alarmId', { parameters: { alarmId: id } })
    notify('The alarm is deleted')
    go('/alarms')
  }
  return (
    <Page
      title={alarm?.name ?? 'Alarm'}
      beside={alarm && <Status state={alarm.severity} />}
      actions={
        alarm &&
        mayI('alarms', 'delete') && (
          <ConfirmButton
            button="Delete"
            buttonKind="danger"
            title={`Delete ${alarm.name}?`}
            onConfirm={remove}
            confirm="Delete alarm"
          >
            <p>Devices with this alarm become inactive, and functions with it as trigger no longer run.</p>
          </ConfirmButton>
        )
      }
    >
      <Link to="/alarms">All alarms</Link>
      <CallResult called={called}>
        {(found) => (
          <>
            <WhereActive alarm={found} />
            <Section title="Alarm">
              <EditedAlarm alarm={found} id={id} again={called.again} />
            </Section>
          </>
        )}
      </CallResult>
    </Page>
  )
}

interface EditedAlarmProps {
  readonly alarm: Alarm
  readonly id: string
  readonly again: () => void
}

function EditedAlarm({ alarm, id, again }: EditedAlarmProps) {
  return (
    <ConcurrentEdit found={alarm} what="this alarm">
      {({ begun, isDirty, touch, check, keep }) => (
        <AlarmForm
          start={begun}
          submit="Save"
          isReadOnly={!mayI('alarms', 'update')}
          isDirty={isDirty}
          onDirty={touch}
          onSubmit={async (body) => {
            const unchanged = await check(() => readAlarm(id))
            const parameters = { alarmId: id }
            const saved = await client.call('PUT /alarms/:alarmId', { ...unchanged, parameters, body })
            notify(`${body.name} is saved`)
            if ('name' in saved) keep(saved)
            again()
          }}
        />
      )}
    </ConcurrentEdit>
  )
}

function readAlarm(id: string): Promise<Alarm> {
  return client.call('GET /alarms/:alarmId', { parameters: { alarmId: id } })
}

/** Rows that are shown at once. */
const pageRows = 100

const columns: readonly Column<StatusRow>[] = [
  {
    key: 'device',
    title: 'Device',
    cell: ({ deviceIdentifier }) => (
      <>
        <Link to={pathOf('devices', deviceIdentifier)}>{deviceIdentifier}</Link>{' '}
        <span class="soft">{nameOfDevice(deviceIdentifier)}</span>
      </>
    ),
  },
  {
    key: 'state',
    title: 'Status',
    cell: ({ active }) => <Status state={active ? 'active' : 'inactive'} tone={active ? 'bad' : 'quiet'} />,
  },
  { key: 'since', title: 'Since', cell: ({ since }) => <Time at={since} /> },
]

function WhereActive({ alarm }: { readonly alarm: Alarm }) {
  const { alarms, schemas } = state()
  const rows = rowsOfAlarm(useObservable(alarms).values(), alarm.resourceIdentifier)
  const [shown, setShown] = useState(pageRows)
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
        columns={columns}
        rows={rows.slice(0, shown)}
        rowKey={({ deviceIdentifier }) => deviceIdentifier}
        empty={
          !alarms.isComplete ? (
            <Loading what="its status" />
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

export interface AlarmFormProps {
  /** Absent for a new alarm. */
  readonly start?: Alarm | undefined
  readonly submit: string
  readonly onSubmit: (body: AlarmBody) => Promise<void>
  /** Shows the alarm without inputs. */
  readonly isReadOnly?: boolean | undefined
  readonly isDirty?: boolean | undefined
  readonly onDirty?: (() => void) | undefined
}

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

export function AlarmForm({ start, submit, onSubmit, isReadOnly, isDirty, onDirty }: AlarmFormProps) {
  const [draft, setDraft] = useState<Draft>(() => draftOf(start))
  const { problem, touch, send, form } = useDraftForm({ isDirty, onDirty })
  const [isChecked, setChecked] = useState(false)
  const groups = useGroups()
  const schema = useSchemas().get(draft.serviceIdentifier)
  const bound = useMemo(() => boundDevices(draft.binding, groups ?? []), [draft.binding, groups])
  const { sample, warning } = useTarget({ service: draft.serviceIdentifier, devices: bound })
  const operands = useMemo(() => operandsOf(schema, sample), [schema, sample])
  if (start && isReadOnly) return <AlarmFacts alarm={start} />

  const set = (change: Partial<Draft>) => {
    setDraft((before) => ({ ...before, ...change }))
    touch()
  }
  const submitAll = () => {
    setChecked(true)
    return send(async () => {
      const { binding, condition, forSeconds, ...rest } = draft
      if (condition === undefined) throw new Error('The condition is incomplete')
      await onSubmit({ ...rest, ...bodyOfBinding(binding), condition, ...(forSeconds && { forSeconds }) })
    }, 'An alarm needs permission to read this service on all of these devices.')
  }
  return (
    <Form submit={submit} onSubmit={submitAll} label={start ? 'Alarm' : 'New alarm'} {...form}>
      <TextField
        label="Name"
        value={draft.name}
        onInput={(name) => set({ name })}
        maxLength={128}
        isRequired
        placeholder="Too warm"
        problem={detailUnder(problem, 'name')}
      />
      <Select
        label="Severity"
        value={draft.severity}
        options={severities}
        onChange={(severity) => set({ severity })}
        problem={detailUnder(problem, 'severity')}
      />
      <ServiceField
        hint="The service with the properties of the condition."
        value={draft.serviceIdentifier}
        onChange={(serviceIdentifier) => set({ serviceIdentifier })}
        warning={warning}
        problem={detailUnder(problem, 'serviceIdentifier')}
      />
      <ConditionEditor
        label="Active if"
        start={draft.condition}
        operands={operands}
        otherName={draft.serviceIdentifier === '' ? 'Choose a service first' : '0x2000'}
        onChange={(condition) => set({ condition })}
        problem={detailUnder(problem, 'condition')}
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
        problem={detailUnder(problem, 'forSeconds')}
      />
      <BindingEditor
        label="Applies to"
        value={draft.binding}
        onChange={(binding) => set({ binding })}
        groups={groups}
        problem={detailUnder(problem, 'devices') ?? detailUnder(problem, 'groups')}
      />
      <p class="hint">
        The user who saves an alarm is its author. It works on devices whose service the author may read.
      </p>
    </Form>
  )
}

/** For users who may not change the alarm. */
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
  if (!alarm) {
    return {
      name: '',
      severity: 'warning',
      serviceIdentifier: '',
      condition: undefined,
      forSeconds: undefined,
      binding: {},
    }
  }
  const { name, severity, serviceIdentifier, condition, forSeconds, devices, groups } = alarm
  const binding = { ...(devices && { devices }), ...(groups && { groups }) }
  return { name, severity, serviceIdentifier, condition, forSeconds: forSeconds || undefined, binding }
}
