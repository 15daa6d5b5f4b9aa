import { useState } from 'preact/hooks'
import { BackTo } from '#dashboard/pages/functions/functions-frame'
import { TemplateForm, type Words } from '#dashboard/pages/functions/template-form'
import { Button } from '#dashboard/parts/button'
import { Confirm } from '#dashboard/parts/dialog'
import { Edited } from '#dashboard/parts/edited'
import { go } from '#dashboard/parts/link'
import { Answered, Page } from '#dashboard/parts/page'
import { statusOf } from '#dashboard/parts/problem-text'
import { Badge } from '#dashboard/parts/status'
import { say } from '#dashboard/parts/toasts'
import { useCall } from '#dashboard/parts/use-call'
import type { PageProps } from '#dashboard/routes'
import { client, mayI } from '#dashboard/session'
import '#dashboard/pages/functions/functions.css'

/** Says enough to begin with, and shows how. */
const firstWords: Words = {
  en: { subject: '{{deviceIdentifier}}: {{property}} is {{value}}', text: 'It was {{previous}} before.\n\n{{date}}' },
}

/** One template; of a name that there is none of, one that is being written. */
export default function TemplatePage({ params: { id: name = '' } }: PageProps) {
  const parameters = { name }
  const called = useCall(async () => ({ template: await readTemplate(name) }), [name])
  const [isRemoving, setRemoving] = useState(false)
  const isThere = called.value?.template !== undefined
  const remove = async () => {
    await client.call('DELETE /templates/:name', { parameters })
    say(`The template ${name} is removed`)
    go('/functions/templates')
  }
  return (
    <Page
      title={name}
      beside={called.value && !isThere && <Badge tone="busy">not saved yet</Badge>}
      actions={
        isThere &&
        mayI('functions', 'delete', { deviceIdentifier: '*' }) && (
          <Button kind="danger" onPress={() => setRemoving(true)}>
            Remove
          </Button>
        )
      }
    >
      <BackTo place="Templates" />
      <Answered called={called}>
        {({ template }) => (
          <Edited found={template} what="this template">
            {({ begun, isDirty, touch, check, keep }) => (
              <TemplateForm
                start={begun?.locales ?? firstWords}
                isNew={!begun}
                isDirty={isDirty}
                onDirty={touch}
                isReadOnly={!mayI('functions', begun ? 'update' : 'create', { deviceIdentifier: '*' })}
                onSubmit={async (locales) => {
                  const unchanged = await check(() => readTemplate(name))
                  const saved = await client.call('PUT /templates/:name', {
                    ...unchanged,
                    parameters,
                    body: { locales },
                  })
                  if ('locales' in saved) keep(saved)
                  say(`The template ${name} is saved`)
                  called.again()
                }}
              />
            )}
          </Edited>
        )}
      </Answered>
      <Confirm
        title={`Remove ${name}?`}
        isOpen={isRemoving}
        onClose={() => setRemoving(false)}
        onConfirm={remove}
        confirm="Remove the template"
      >
        <p>Functions that name it send no mail from then on; each that was asked for is counted as a failure.</p>
      </Confirm>
    </Page>
  )
}

async function readTemplate(name: string) {
  try {
    return await client.call('GET /templates/:name', { parameters: { name } })
  } catch (problem) {
    if (statusOf(problem) === 404) return undefined
    throw problem
  }
}
