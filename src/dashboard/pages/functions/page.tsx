import type { Item } from '#client/client'
import { bindingInWords, idOf } from '#dashboard/binding/binding'
import { useGroups, useNames } from '#dashboard/binding/known-names'
import { Button } from '#dashboard/components/button'
import { Link, pathOf } from '#dashboard/components/link'
import { Status } from '#dashboard/components/status'
import { actionsColumn, type Column } from '#dashboard/components/table'
import { Time } from '#dashboard/components/time'
import { notify } from '#dashboard/components/toasts'
import { useCall } from '#dashboard/components/use-call'
import { draftOf, graphInWords } from '#dashboard/pages/functions/graph-draft'
import { ListPage } from '#dashboard/pages/functions/list-page'
import { client, mayUser } from '#dashboard/session'

type Fn = Item<'GET /functions'>

export default function FunctionsPage() {
  const list = useCall(() => client.call('GET /functions'), [])
  return (
    <ListPage
      title="Functions"
      list={list}
      columns={useColumns(list.refresh)}
      pathOf={pathOfFunction}
      mayCreate={mayUser('functions', 'create')}
      empty={<NoFunctions />}
    />
  )
}

function useColumns(again: () => void): readonly Column<Fn>[] {
  const groups = useGroups() ?? []
  const names = useNames()
  return [
    { title: 'Name', cell: (fn) => <Link to={pathOfFunction(fn)}>{fn.name}</Link> },
    { title: 'Enabled', cell: ({ enabled }) => <Status state={enabled ? 'enabled' : 'disabled'} /> },
    { title: 'Steps', isText: true, cell: ({ graph }) => graphInWords(draftOf(graph), names) },
    { title: 'Devices', cell: ({ binding }) => bindingInWords(binding, groups) },
    { title: 'Changed', cell: ({ updatedAt }) => <Time at={updatedAt} /> },
    { ...actionsColumn((fn) => <Switch fn={fn} again={again} />, 'Switch'), align: 'end' },
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
    <>
      <p>A function sends mails or calls webhooks when a value, an alarm or the status of a device changes.</p>
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
    </>
  )
}

function pathOfFunction({ resourceIdentifier }: Fn): string {
  return pathOf('functions', idOf(resourceIdentifier))
}
