import type { ComponentChildren } from 'preact'
import type { Item } from '#client/client'
import { bindingInWords, idOf } from '#dashboard/binding/binding'
import { nameOfDevice, useDevices, useGroups, useNames } from '#dashboard/binding/known-names'
import { Button } from '#dashboard/components/button'
import { TextField, useField } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { Link, navigateTo, pathOf } from '#dashboard/components/link'
import { nameProblem, shortNameRule } from '#dashboard/components/names'
import { CallResult, Empty, Page, Section } from '#dashboard/components/page'
import { Status } from '#dashboard/components/status'
import { actionsColumn, type Column, Table } from '#dashboard/components/table'
import { Time } from '#dashboard/components/time'
import { notify } from '#dashboard/components/toasts'
import { type CallState, useCall } from '#dashboard/components/use-call'
import { draftOf, graphInWords } from '#dashboard/pages/functions/graph-draft'
import { client, mayUser } from '#dashboard/session'
import { countText } from '#dashboard/values/format-value'
import { isShortName } from '#model/name-forms'
import '#dashboard/pages/functions/functions.css'

/** Three related lists: functions, and the templates and groups that they use. */

type Fn = Item<'GET /functions'>
type Template = Item<'GET /templates'>
type Group = Item<'GET /groups'>

const paths = { Functions: '/functions', Templates: '/functions/templates', Groups: '/functions/groups' } as const

interface ListPageProps<Row> {
  readonly title: keyof typeof paths
  readonly list: CallState<readonly Row[]>
  /** The columns after the name. */
  readonly columns: readonly Column<Row>[]
  /** Explains an empty list. */
  readonly empty: ComponentChildren
  /** Absent: without a button for a new entry. */
  readonly mayCreate?: boolean
  /** Above the list. */
  readonly children?: ComponentChildren
}

function ListPage<Row extends Fn | Template | Group>(props: ListPageProps<Row>) {
  const { title, list, columns, empty, mayCreate, children } = props
  const kind = title.toLowerCase().replace(/s$/, '')
  const pathOfRow = ({ name, resourceIdentifier }: Row) =>
    paths[title] + pathOf(title === 'Templates' ? name : idOf(resourceIdentifier))
  const nameColumn: Column<Row> = { title: 'Name', cell: (row) => <Link to={pathOfRow(row)}>{row.name}</Link> }
  const newEntry = (
    <Link to={`${paths[title]}/new`} class="button primary">
      New {kind}
    </Link>
  )
  return (
    <Page title={title} actions={mayCreate && newEntry}>
      <nav class="lists" aria-label="Functions, templates and groups">
        {Object.entries(paths).map(([name, path]) => (
          <a key={name} href={`#${path}`} aria-current={name === title ? 'page' : undefined}>
            {name}
          </a>
        ))}
      </nav>
      {children}
      <CallResult call={list}>
        {(rows) =>
          rows.length === 0 ? (
            <Empty title={`No ${title.toLowerCase()}`}>{empty}</Empty>
          ) : (
            <Section title={countText(rows.length, kind)}>
              <Table
                caption={title}
                columns={[nameColumn, ...columns]}
                rows={rows.toSorted((one, other) => one.name.localeCompare(other.name))}
                rowKey={pathOfRow}
                onRow={(row) => navigateTo(pathOfRow(row))}
              />
            </Section>
          )
        }
      </CallResult>
    </Page>
  )
}

export function FunctionsPage() {
  const list = useCall(() => client.call('GET /functions'), [])
  const groups = useGroups() ?? []
  const names = useNames()
  const mayCreate = mayUser('functions', 'create')
  const columns: readonly Column<Fn>[] = [
    { title: 'Enabled', cell: ({ enabled }) => <Status state={enabled ? 'enabled' : 'disabled'} /> },
    { title: 'Steps', isText: true, cell: ({ graph }) => graphInWords(draftOf(graph), names) },
    { title: 'Devices', cell: ({ binding }) => bindingInWords(binding, groups) },
    { title: 'Changed', cell: ({ updatedAt }) => <Time at={updatedAt} /> },
    {
      ...actionsColumn((fn) => mayUser('functions', 'update') && <Switch fn={fn} again={list.refresh} />, 'Switch'),
      align: 'end',
    },
  ]
  const empty = (
    <>
      <p>A function sends mails or calls webhooks when a value, an alarm or the status of a device changes.</p>
      {mayCreate ? (
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
  return <ListPage title="Functions" {...{ list, columns, mayCreate, empty }} />
}

function Switch({ fn, again }: { readonly fn: Fn; readonly again: () => void }) {
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

const templateColumns: readonly Column<Template>[] = [
  { title: 'Subject', cell: ({ locales }) => locales.en?.subject },
  { title: 'Locales', cell: ({ locales }) => Object.keys(locales).sort().join(', ') },
  { title: 'Changed', cell: ({ updatedAt }) => <Time at={updatedAt} /> },
]

export function TemplatesPage() {
  const list = useCall(() => client.call('GET /templates'), [])
  // Templates apply to all devices, so writing them needs permission on all devices.
  const mayWrite = mayUser('functions', 'create', { deviceIdentifier: '*' })
  const empty = (
    <>
      <p>A template contains the text of a mail in any number of languages. Functions refer to it by name.</p>
      <p>
        {mayWrite
          ? 'Enter a name above, such as too-hot.'
          : 'Creating a template needs permission to create functions for all devices.'}
      </p>
    </>
  )
  return (
    <ListPage title="Templates" columns={templateColumns} {...{ list, empty }}>
      {mayWrite && <NewTemplate />}
    </ListPage>
  )
}

function NewTemplate() {
  const field = useField('')
  const { value: name } = field
  return (
    <Section title="New template">
      <Form
        submit="Create template"
        label="New template"
        isDisabled={!isShortName(name)}
        onSubmit={() => navigateTo(paths.Templates + pathOf(name))}
      >
        <TextField
          label="Name"
          hint={`${shortNameRule}. Functions refer to it by this name.`}
          {...field}
          maxLength={64}
          placeholder="too-hot"
          problem={nameProblem(name)}
          isCode
        />
      </Form>
    </Section>
  )
}

const groupColumns: readonly Column<Group>[] = [
  { title: 'Devices', align: 'end', cell: ({ devices }) => devices.length },
  { title: 'Examples', isText: true, cell: ({ devices }) => <Examples devices={devices} /> },
]

const shownDevices = 4

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

export function GroupsPage() {
  const list = useCall(() => client.call('GET /groups'), [])
  const mayCreate = mayUser('functions', 'create')
  const empty = (
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
  )
  return <ListPage title="Groups" columns={groupColumns} {...{ list, mayCreate, empty }} />
}
