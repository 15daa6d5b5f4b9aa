import { useState } from 'preact/hooks'
import { idOf } from '#dashboard/binding/binding'
import { AlarmForm } from '#dashboard/pages/alarms/alarm-form'
import { type Alarm, rowsOfAlarm, type StatusRow } from '#dashboard/pages/alarms/alarm-rows'
import { Button } from '#dashboard/parts/button'
import { Confirm } from '#dashboard/parts/dialog'
import { Edited } from '#dashboard/parts/edited'
import { Empty } from '#dashboard/parts/empty'
import { go, Link, pathOf } from '#dashboard/parts/link'
import { Answered, Page, Reading, Section } from '#dashboard/parts/page'
import { Badge, Status } from '#dashboard/parts/status'
import { type Column, Table } from '#dashboard/parts/table'
import { Time } from '#dashboard/parts/time'
import { say } from '#dashboard/parts/toasts'
import { useCall } from '#dashboard/parts/use-call'
import { useFollowed } from '#dashboard/parts/use-events'
import { useObservable } from '#dashboard/parts/use-observable'
import type { PageProps } from '#dashboard/routes'
import { client, mayI } from '#dashboard/session'
import { state } from '#dashboard/state'

/** One alarm, or with `new` in place of its id one that is being made. */
export default function AlarmPage({ params: { id = '' } }: PageProps) {
  return id === 'new' ? <NewAlarmPage /> : <OneAlarmPage key={id} id={id} />
}

function NewAlarmPage() {
  return (
    <Page title="New alarm">
      <Section title="What to watch for">
        <AlarmForm
          submit="Make the alarm"
          onSubmit={async (body) => {
            const made = await client.call('POST /alarms', { body })
            say(`${made.name} is watched for from now on`)
            go(pathOf('alarms', idOf(made.resourceIdentifier)), { replace: true })
          }}
        />
      </Section>
    </Page>
  )
}

function OneAlarmPage({ id }: { readonly id: string }) {
  const called = useCall(() => readAlarm(id), [id])
  useFollowed(called, 'ALARM_CONFIG')
  const [isRemoving, setRemoving] = useState(false)
  const alarm = called.value
  const remove = async () => {
    await client.call('DELETE /alarms/:alarmId', { parameters: { alarmId: id } })
    say('The alarm is removed')
    go('/alarms')
  }
  return (
    <Page
      title={alarm?.name ?? 'Alarm'}
      beside={alarm && <Status state={alarm.severity} />}
      actions={
        alarm &&
        mayI('alarms', 'delete') && (
          <Button kind="danger" onPress={() => setRemoving(true)}>
            Remove
          </Button>
        )
      }
    >
      <Link to="/alarms">All alarms</Link>
      <Answered called={called}>
        {(found) => (
          <>
            <WhereActive alarm={found} />
            <Section title="What is watched for">
              <EditedAlarm alarm={found} id={id} again={called.again} />
            </Section>
          </>
        )}
      </Answered>
      <Confirm
        title={`Remove ${alarm?.name ?? 'the alarm'}?`}
        isOpen={isRemoving}
        onClose={() => setRemoving(false)}
        onConfirm={remove}
        confirm="Remove the alarm"
      >
        <p>Where it is active it ends, and functions that wait for it are still from then on.</p>
      </Confirm>
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
    <Edited found={alarm} what="this alarm">
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
            say(`${body.name} is saved`)
            if ('name' in saved) keep(saved)
            again()
          }}
        />
      )}
    </Edited>
  )
}

function readAlarm(id: string): Promise<Alarm> {
  return client.call('GET /alarms/:alarmId', { parameters: { alarmId: id } })
}

/** As many rows as are read at once. */
const pageRows = 100

const columns: readonly Column<StatusRow>[] = [
  {
    key: 'device',
    title: 'Device',
    cell: ({ deviceIdentifier }) => <Link to={pathOf('devices', deviceIdentifier)}>{deviceIdentifier}</Link>,
  },
  {
    key: 'state',
    title: 'Now',
    cell: ({ active }) => <Status state={active ? 'active' : 'inactive'} tone={active ? 'bad' : 'quiet'} />,
  },
  { key: 'since', title: 'Since', cell: ({ since }) => <Time at={since} /> },
]

function WhereActive({ alarm }: { readonly alarm: Alarm }) {
  const { alarms } = state()
  const rows = rowsOfAlarm(useObservable(alarms).values(), alarm.resourceIdentifier)
  const [shown, setShown] = useState(pageRows)
  const active = rows.filter((row) => row.active).length
  return (
    <Section
      title="Where"
      beside={
        <Badge tone={active > 0 ? 'bad' : 'quiet'}>{alarms.isComplete ? active : `${active || ''}…`} active</Badge>
      }
    >
      <Table
        caption={`Where ${alarm.name} is or was active`}
        columns={columns}
        rows={rows.slice(0, shown)}
        rowKey={({ deviceIdentifier }) => deviceIdentifier}
        empty={
          !alarms.isComplete ? (
            <Reading what="where it is active" />
          ) : (
            <Empty title="It was active nowhere so far">
              <p>
                Devices stand here as soon as the condition holds on them. If you expect some already, look whether they
                offer <code>{alarm.serviceIdentifier}</code> and whether the property has a value.
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
