import type { Item } from '#client/client'
import { idOf } from '#dashboard/binding/binding'
import { nameOfDevice, useDevices } from '#dashboard/binding/known-names'
import { Link, pathOf } from '#dashboard/components/link'
import type { Column } from '#dashboard/components/table'
import { useCall } from '#dashboard/components/use-call'
import { ListPage } from '#dashboard/pages/functions/list-page'
import { client, mayUser } from '#dashboard/session'

type Group = Item<'GET /groups'>

const shownDevices = 4

const columns: readonly Column<Group>[] = [
  { title: 'Name', cell: (group) => <Link to={pathOfGroup(group)}>{group.name}</Link> },
  { title: 'Devices', align: 'end', cell: ({ devices }) => devices.length },
  { title: 'Examples', isText: true, cell: ({ devices }) => <Examples devices={devices} /> },
]

/** The first devices of a group, by name if they have a name. */
function Examples({ devices }: Pick<Group, 'devices'>) {
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
  const mayCreate = mayUser('functions', 'create')
  return (
    <ListPage
      title="Groups"
      list={useCall(() => client.call('GET /groups'), [])}
      columns={columns}
      pathOf={pathOfGroup}
      mayCreate={mayCreate}
      empty={
        <>
          <p>
            A group is a named list of devices, such as all pumps of a hall. Alarms, functions, writes and rollouts can
            apply to it.
          </p>
          {mayCreate ? (
            <p>
              <Link to="/functions/groups/new">Create the first one</Link>.
            </p>
          ) : (
            <p>Creating a group needs permission to create functions.</p>
          )}
        </>
      }
    />
  )
}

function pathOfGroup({ resourceIdentifier }: Group): string {
  return pathOf('functions', 'groups', idOf(resourceIdentifier))
}
