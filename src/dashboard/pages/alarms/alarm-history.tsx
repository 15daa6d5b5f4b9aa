import type { Item } from '#client/routes'
import { idOf } from '#dashboard/binding/binding'
import { Section } from '#dashboard/components/page'
import { Status } from '#dashboard/components/status'
import { type Column, PagedTable } from '#dashboard/components/table'
import { Time } from '#dashboard/components/time'
import { useRefreshOnEvents } from '#dashboard/components/use-call'
import { usePagedList } from '#dashboard/components/use-paged-list'
import { usePrincipalNames } from '#dashboard/pages/alarms/acknowledged-column'
import { DeviceLink } from '#dashboard/pages/alarms/active-alarms'
import { client } from '#dashboard/session'
import type { Alarm } from '#dashboard/values/alarm-order'

type HistoryRow = Item<'GET /alarms/history'>

const pageSize = 50

/** What happened to an alarm, newest first. */
export function AlarmHistory({ alarm: { resourceIdentifier } }: { readonly alarm: Alarm }) {
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
    { title: 'Device', cell: ({ deviceIdentifier }) => <DeviceLink device={deviceIdentifier} /> },
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
