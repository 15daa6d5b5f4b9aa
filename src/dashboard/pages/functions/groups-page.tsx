import type { GroupOption } from '#dashboard/binding/binding'
import { idOf } from '#dashboard/binding/binding'
import { nameOfDevice } from '#dashboard/binding/known-names'
import { useDevices } from '#dashboard/binding/use-devices'
import { Empty } from '#dashboard/components/empty-state'
import { Link, navigateTo, pathOf } from '#dashboard/components/link'
import { CallResult, Section } from '#dashboard/components/page'
import { type Column, Table } from '#dashboard/components/table'
import { useCall } from '#dashboard/components/use-call'
import { FunctionsFrame } from '#dashboard/pages/functions/functions-frame'
import { client, mayUser } from '#dashboard/session'
import { countText } from '#dashboard/values/format-value'

const shownDevices = 4

const columns: readonly Column<GroupOption>[] = [
  { key: 'name', title: 'Name', cell: (group) => <Link to={pathOfGroup(group)}>{group.name}</Link> },
  { key: 'count', title: 'Devices', align: 'end', cell: ({ devices }) => devices.length },
  {
    key: 'devices',
    title: 'Examples',
    isText: true,
    cell: ({ devices }) => <Examples devices={devices} />,
  },
]

/** The first devices, by name if they have one. */
function Examples({ devices }: Pick<GroupOption, 'devices'>) {
  const shown = devices.slice(0, shownDevices)
  useDevices(shown)
  return (
    <>
      {shown.map((device) => nameOfDevice(device) ?? device).join(', ')}
      {devices.length > shownDevices && ' …'}
    </>
  )
}

export default function GroupsPage() {
  const called = useCall(() => client.call('GET /groups'), [])
  return (
    <FunctionsFrame
      current="Groups"
      actions={
        mayUser('functions', 'create') && (
          <Link to="/functions/groups/new" class="button primary">
            New group
          </Link>
        )
      }
    >
      <CallResult call={called}>
        {(groups) =>
          groups.length === 0 ? (
            <Empty title="No groups">
              <p>
                A group is devices under one name, such as all pumps of a hall: alarms, functions, writes and rollouts
                can be about it.
              </p>
              {mayUser('functions', 'create') ? (
                <p>
                  <Link to="/functions/groups/new">Create the first one</Link>.
                </p>
              ) : (
                <p>Creating a group needs permission to create functions.</p>
              )}
            </Empty>
          ) : (
            <Section title={countText(groups.length, 'group')}>
              <Table
                caption="Groups"
                columns={columns}
                rows={groups.toSorted((a, b) => a.name.localeCompare(b.name))}
                rowKey={({ resourceIdentifier }) => resourceIdentifier}
                onRow={(group) => navigateTo(pathOfGroup(group))}
              />
            </Section>
          )
        }
      </CallResult>
    </FunctionsFrame>
  )
}

function pathOfGroup({ resourceIdentifier }: GroupOption): string {
  return pathOf('functions', 'groups', idOf(resourceIdentifier))
}
