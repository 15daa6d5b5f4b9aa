import { useState } from 'preact/hooks'
import type { Item } from '#client/client'
import { Empty } from '#dashboard/components/empty-state'
import { TextField } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { Link, navigateTo, pathOf } from '#dashboard/components/link'
import { CallResult, Section } from '#dashboard/components/page'
import { isShortName, nameProblem, shortNameRule } from '#dashboard/components/short-name'
import { type Column, Table } from '#dashboard/components/table'
import { Time } from '#dashboard/components/time'
import { useCall } from '#dashboard/components/use-call'
import { FunctionsFrame } from '#dashboard/pages/functions/functions-frame'
import { client, mayUser } from '#dashboard/session'
import { countText } from '#dashboard/values/format-value'

type Template = Item<'GET /templates'>

const columns: readonly Column<Template>[] = [
  { key: 'name', title: 'Name', cell: ({ name }) => <Link to={pathOfTemplate(name)}>{name}</Link> },
  { key: 'subject', title: 'Subject', cell: ({ locales }) => locales.en?.subject },
  { key: 'locales', title: 'Locales', cell: ({ locales }) => Object.keys(locales).sort().join(', ') },
  { key: 'updated', title: 'Changed', cell: ({ updatedAt }) => <Time at={updatedAt} /> },
]

export default function TemplatesPage() {
  const called = useCall(() => client.call('GET /templates'), [])
  // Templates apply to all devices, so writing them needs permission on all devices.
  const mayWrite = mayUser('functions', 'create', { deviceIdentifier: '*' })
  return (
    <FunctionsFrame current="Templates">
      {mayWrite && <NewTemplate />}
      <CallResult call={called}>
        {(templates) =>
          templates.length === 0 ? (
            <Empty title="No templates">
              <p>A template contains the text of a mail in any number of languages. Functions refer to it by name.</p>
              <p>
                {mayWrite
                  ? 'Enter a name above, such as too-hot.'
                  : 'Creating a template needs permission to create functions for all devices.'}
              </p>
            </Empty>
          ) : (
            <Section title={countText(templates.length, 'template')}>
              <Table
                caption="Templates"
                columns={columns}
                rows={templates}
                rowKey={({ name }) => name}
                onRow={({ name }) => navigateTo(pathOfTemplate(name))}
              />
            </Section>
          )
        }
      </CallResult>
    </FunctionsFrame>
  )
}

function NewTemplate() {
  const [name, setName] = useState('')
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
          value={name}
          onInput={setName}
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
