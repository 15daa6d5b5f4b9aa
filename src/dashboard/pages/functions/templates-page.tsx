import type { Item } from '#client/client'
import { TextField, useField } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { Link, navigateTo, pathOf } from '#dashboard/components/link'
import { nameProblem, shortNameRule } from '#dashboard/components/names'
import { Section } from '#dashboard/components/page'
import type { Column } from '#dashboard/components/table'
import { Time } from '#dashboard/components/time'
import { useCall } from '#dashboard/components/use-call'
import { ListPage } from '#dashboard/pages/functions/list-page'
import { client, mayUser } from '#dashboard/session'
import { isShortName } from '#model/name-forms'

type Template = Item<'GET /templates'>

const columns: readonly Column<Template>[] = [
  { title: 'Name', cell: ({ name }) => <Link to={pathOfTemplate(name)}>{name}</Link> },
  { title: 'Subject', cell: ({ locales }) => locales.en?.subject },
  { title: 'Locales', cell: ({ locales }) => Object.keys(locales).sort().join(', ') },
  { title: 'Changed', cell: ({ updatedAt }) => <Time at={updatedAt} /> },
]

export default function TemplatesPage() {
  // Templates apply to all devices, so writing them needs permission on all devices.
  const mayWrite = mayUser('functions', 'create', { deviceIdentifier: '*' })
  return (
    <ListPage
      title="Templates"
      list={useCall(() => client.call('GET /templates'), [])}
      columns={columns}
      pathOf={({ name }) => pathOfTemplate(name)}
      empty={
        <>
          <p>A template contains the text of a mail in any number of languages. Functions refer to it by name.</p>
          <p>
            {mayWrite
              ? 'Enter a name above, such as too-hot.'
              : 'Creating a template needs permission to create functions for all devices.'}
          </p>
        </>
      }
    >
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
        onSubmit={() => navigateTo(pathOfTemplate(name))}
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

function pathOfTemplate(name: string): string {
  return pathOf('functions', 'templates', name)
}
