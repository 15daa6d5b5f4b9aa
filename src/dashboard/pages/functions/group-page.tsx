import type { Body, Item } from '#client/client'
import { DevicePicker } from '#dashboard/binding/binding-fields'
import { type Editing, EditPage } from '#dashboard/components/edit-page'
import { TextField, useFields } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { Link, pathOf } from '#dashboard/components/link'
import { Section } from '#dashboard/components/page'
import type { PageProps } from '#dashboard/routes'
import { client, mayUser } from '#dashboard/session'
import '#dashboard/pages/functions/functions.css'

type Group = Item<'GET /groups'>

type GroupBody = Body<'POST /groups'>

/** A group, or a new group if the id is `new`. */
export default function GroupPage({ params: { id = '' } }: PageProps) {
  const isNew = id === 'new'
  const parameters = { groupId: id }
  return (
    <EditPage<Group, GroupBody>
      kind="group"
      listPath="/functions/groups"
      isNew={isNew}
      read={() => client.call('GET /groups/:groupId', { parameters })}
      create={(body) => client.call('POST /groups', { body })}
      save={(body, precondition) => client.call('PATCH /groups/:groupId', { ...precondition, parameters, body })}
      remove={() => client.call('DELETE /groups/:groupId', { parameters })}
      mayDelete={mayUser('functions', 'delete')}
      deleteEffect="Its devices stay. A group cannot be deleted while an alarm or a function uses it."
      notFoundText="A group needs permission to read all of its devices."
    >
      {(editing) => (
        <Section title="Members">
          {isNew || mayUser('functions', 'update') || !editing.start ? (
            <GroupForm {...editing} />
          ) : (
            <ul class="chips">
              {editing.start.devices.map((device) => (
                <li key={device} class="chip">
                  <Link to={pathOf('devices', device)}>{device}</Link>
                </li>
              ))}
            </ul>
          )}
        </Section>
      )}
    </EditPage>
  )
}

function GroupForm({ start, touch, save, form }: Editing<Group, GroupBody>) {
  const first = { name: start?.name ?? '', devices: (start?.devices ?? []) as readonly string[] }
  const { values, field } = useFields(first, touch)
  return (
    <Form {...form} onSubmit={() => save({ ...values, devices: [...values.devices] })}>
      <TextField label="Name" {...field('name')} maxLength={128} isRequired placeholder="Hall 3" />
      <DevicePicker label="Devices" {...field('devices')} />
      <p class="hint">Alarms and functions that use the group follow its members.</p>
    </Form>
  )
}
