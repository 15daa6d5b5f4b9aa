import { useState } from 'preact/hooks'
import type { Item } from '#client/client'
import { idOf } from '#dashboard/binding/binding'
import { DevicePicker } from '#dashboard/binding/device-picker'
import { BackTo } from '#dashboard/pages/functions/functions-frame'
import { ConcurrentEdit, type Edit } from '#dashboard/parts/concurrent-edit'
import { ConfirmButton } from '#dashboard/parts/dialog'
import { TextField } from '#dashboard/parts/fields'
import { Form } from '#dashboard/parts/form'
import { go, Link, pathOf } from '#dashboard/parts/link'
import { CallResult, Page, Section } from '#dashboard/parts/page'
import { detailUnder } from '#dashboard/parts/problem-text'
import { notify } from '#dashboard/parts/toasts'
import { useCall } from '#dashboard/parts/use-call'
import { useDraftForm } from '#dashboard/parts/use-draft-form'
import type { PageProps } from '#dashboard/routes'
import { client, mayI } from '#dashboard/session'
import '#dashboard/pages/functions/functions.css'

type Group = Item<'GET /groups'>

/** A group, or a new group if the id is `new`. */
export default function GroupPage({ params: { id = '' } }: PageProps) {
  return id === 'new' ? <NewGroupPage /> : <OneGroupPage key={id} id={id} />
}

function NewGroupPage() {
  return (
    <Page title="New group">
      <BackTo place="Groups" />
      <Section title="Members">
        <GroupForm
          submit="Create group"
          onSubmit={async (body) => {
            const made = await client.call('POST /groups', { body })
            notify(`${made.name} is created`)
            go(pathOf('functions', 'groups', idOf(made.resourceIdentifier)), { replace: true })
          }}
        />
      </Section>
    </Page>
  )
}

function OneGroupPage({ id }: { readonly id: string }) {
  const parameters = { groupId: id }
  const called = useCall(() => client.call('GET /groups/:groupId', { parameters }), [id])
  const group = called.value
  const remove = async () => {
    await client.call('DELETE /groups/:groupId', { parameters })
    notify('The group is deleted')
    go('/functions/groups')
  }
  return (
    <Page
      title={group?.name ?? 'Group'}
      actions={
        group &&
        mayI('functions', 'delete') && (
          <ConfirmButton
            button="Delete"
            buttonKind="danger"
            title={`Delete ${group.name}?`}
            onConfirm={remove}
            confirm="Delete group"
          >
            <p>Its devices stay. A group cannot be deleted while an alarm or a function uses it.</p>
          </ConfirmButton>
        )
      }
    >
      <BackTo place="Groups" />
      <CallResult called={called}>
        {(found) => (
          <Section title="Members">
            {mayI('functions', 'update') ? (
              <ConcurrentEdit found={found} what="this group">
                {(edit) => (
                  <GroupForm
                    edit={edit}
                    submit="Save"
                    onSubmit={async (body) => {
                      const unchanged = await edit.check(() => client.call('GET /groups/:groupId', { parameters }))
                      const saved = await client.call('PATCH /groups/:groupId', { ...unchanged, parameters, body })
                      notify(`${body.name} is saved`)
                      if ('name' in saved) edit.keep(saved)
                      called.again()
                    }}
                  />
                )}
              </ConcurrentEdit>
            ) : (
              <GroupMembers group={found} />
            )}
          </Section>
        )}
      </CallResult>
    </Page>
  )
}

function GroupMembers({ group: { devices } }: { readonly group: Group }) {
  return (
    <ul class="chips">
      {devices.map((device) => (
        <li key={device} class="chip">
          <Link to={pathOf('devices', device)}>{device}</Link>
        </li>
      ))}
    </ul>
  )
}

interface GroupFormProps {
  /** Absent for a new group. */
  readonly edit?: Edit<Group>
  readonly submit: string
  readonly onSubmit: (body: { name: string; devices: string[] }) => Promise<void>
}

function GroupForm({ edit, submit, onSubmit }: GroupFormProps) {
  const [name, setName] = useState(edit?.begun.name ?? '')
  const [devices, setDevices] = useState<readonly string[]>(edit?.begun.devices ?? [])
  const { problem, touch, send, form } = useDraftForm({ isDirty: edit?.isDirty, onDirty: edit?.touch })
  const submitAll = () =>
    send(() => onSubmit({ name, devices: [...devices] }), 'A group needs permission to read all of its devices.')
  return (
    <Form submit={submit} onSubmit={submitAll} label={edit ? 'Group' : 'New group'} {...form}>
      <TextField
        label="Name"
        value={name}
        onInput={(next) => {
          setName(next)
          touch()
        }}
        maxLength={128}
        isRequired
        placeholder="Hall 3"
        problem={detailUnder(problem, 'name')}
      />
      <DevicePicker
        label="Devices"
        value={devices}
        onChange={(next) => {
          setDevices(next)
          touch()
        }}
        problem={deviceProblem(problem, devices)}
      />
      <p class="hint">Alarms and functions that use the group follow its members.</p>
    </Form>
  )
}

/** Names the device instead of its index. */
function deviceProblem(problem: unknown, devices: readonly string[]): string | undefined {
  const message = detailUnder(problem, 'devices')
  return message?.replace(/ \(at (\d+)\)$/, (_, place) => ` (${devices[Number(place)]})`)
}
