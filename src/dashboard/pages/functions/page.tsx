import type { Item } from '#client/client'
import { bindingInWords, idOf } from '#dashboard/binding/binding'
import { useGroups, useSchemas } from '#dashboard/binding/known-names'
import { Button } from '#dashboard/components/button'
import { Empty } from '#dashboard/components/empty-state'
import { Link, navigateTo, pathOf } from '#dashboard/components/link'
import { CallResult, Section } from '#dashboard/components/page'
import { Status } from '#dashboard/components/status'
import { type Column, Table } from '#dashboard/components/table'
import { Time } from '#dashboard/components/time'
import { notify } from '#dashboard/components/toasts'
import { useCall } from '#dashboard/components/use-call'
import { FunctionsFrame } from '#dashboard/pages/functions/functions-frame'
import { draftOf } from '#dashboard/pages/functions/graph-draft'
import { graphInWords } from '#dashboard/pages/functions/node-words'
import { useAlarmNames } from '#dashboard/pages/functions/use-names'
import { client, mayUser } from '#dashboard/session'
import { countText } from '#dashboard/values/format-value'

type Fn = Item<'GET /functions'>

export default function FunctionsPage() {
  const called = useCall(() => client.call('GET /functions'), [])
  const columns = useColumns(called.refresh)
  return (
    <FunctionsFrame
      current="Functions"
      actions={
        mayUser('functions', 'create') && (
          <Link to="/functions/new" class="button primary">
            New function
          </Link>
        )
      }
    >
      <CallResult call={called}>
        {(functions) =>
          functions.length === 0 ? (
            <NoFunctions />
          ) : (
            <Section title={countText(functions.length, 'function')}>
              <Table
                caption="Functions"
                columns={columns}
                rows={functions.toSorted((a, b) => a.name.localeCompare(b.name))}
                rowKey={({ resourceIdentifier }) => resourceIdentifier}
                onRow={(fn) => navigateTo(pathOfFunction(fn))}
              />
            </Section>
          )
        }
      </CallResult>
    </FunctionsFrame>
  )
}

function useColumns(again: () => void): readonly Column<Fn>[] {
  const groups = useGroups() ?? []
  const names = { schemas: useSchemas(), alarms: useAlarmNames() }
  return [
    { key: 'name', title: 'Name', cell: (fn) => <Link to={pathOfFunction(fn)}>{fn.name}</Link> },
    { key: 'enabled', title: 'Enabled', cell: ({ enabled }) => <Status state={enabled ? 'enabled' : 'disabled'} /> },
    { key: 'graph', title: 'Steps', isText: true, cell: ({ graph }) => graphInWords(draftOf(graph), names) },
    { key: 'binding', title: 'Devices', cell: ({ binding }) => bindingInWords(binding, groups) },
    { key: 'updated', title: 'Changed', cell: ({ updatedAt }) => <Time at={updatedAt} /> },
    {
      key: 'switch',
      title: <span class="hidden">Switch</span>,
      align: 'end',
      cell: (fn) => <Switch fn={fn} again={again} />,
    },
  ]
}

function Switch({ fn, again }: { readonly fn: Fn; readonly again: () => void }) {
  if (!mayUser('functions', 'update')) return null
  const { name, enabled } = fn
  const turn = async () => {
    const parameters = { functionId: idOf(fn.resourceIdentifier) }
    await client.call('PATCH /functions/:functionId', { parameters, body: { enabled: !enabled } })
    notify(`${name} is ${enabled ? 'disabled' : 'enabled'}`)
    again()
  }
  return (
    <Button kind="quiet" label={`${enabled ? 'Disable' : 'Enable'} ${name}`} onPress={turn}>
      {enabled ? 'Disable' : 'Enable'}
    </Button>
  )
}

function NoFunctions() {
  return (
    <Empty title="No functions">
      <p>
        A function sends people mail when something happens to devices: a value, an alarm, a device that goes offline.
      </p>
      {mayUser('functions', 'create') ? (
        <ol>
          <li>
            1. Write <Link to="/functions/templates">a template</Link> for the mail.
          </li>
          <li>
            2. <Link to="/functions/new">Create a function</Link> that sends it.
          </li>
          <li>
            3. <Link to="/notifications">Subscribe</Link> to it: only subscribers receive its mails.
          </li>
        </ol>
      ) : (
        <p>Creating a function needs permission to create functions.</p>
      )}
    </Empty>
  )
}

function pathOfFunction({ resourceIdentifier }: Fn): string {
  return pathOf('functions', idOf(resourceIdentifier))
}
