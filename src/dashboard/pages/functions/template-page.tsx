import { useState } from 'preact/hooks'
import { BackTo } from '#dashboard/pages/functions/functions-frame'
import { Button } from '#dashboard/parts/button'
import { ConcurrentEdit } from '#dashboard/parts/concurrent-edit'
import { ConfirmButton } from '#dashboard/parts/dialog'
import { go } from '#dashboard/parts/link'
import { CallResult, Page, Section } from '#dashboard/parts/page'
import { detailUnder, statusOf } from '#dashboard/parts/problem-text'
import { Badge } from '#dashboard/parts/status'
import { notify } from '#dashboard/parts/toasts'
import { useCall } from '#dashboard/parts/use-call'
import type { PageProps } from '#dashboard/routes'
import { client, mayI } from '#dashboard/session'
import '#dashboard/pages/functions/functions.css'
import { Fragment } from 'preact'
import { TemplatePreview, type Words, type WordsOfLocale } from '#dashboard/pages/functions/template-preview'
import { Checkbox, SuggestField, TextField } from '#dashboard/parts/fields'
import { Form } from '#dashboard/parts/form'
import { Tabs } from '#dashboard/parts/tabs'
import { parseMustache } from '#model/mustache'
import '#dashboard/binding/binding.css'

/** A usable example for a new template. */
const firstWords: Words = {
  en: { subject: '{{deviceIdentifier}}: {{property}} is {{value}}', text: 'It was {{previous}} before.\n\n{{date}}' },
}

/** A template, or a new one if the name does not exist. */
export default function TemplatePage({ params: { id: name = '' } }: PageProps) {
  const parameters = { name }
  const called = useCall(async () => ({ template: await readTemplate(name) }), [name])
  const isThere = called.value?.template !== undefined
  const remove = async () => {
    await client.call('DELETE /templates/:name', { parameters })
    notify(`The template ${name} is deleted`)
    go('/functions/templates')
  }
  return (
    <Page
      title={name}
      beside={called.value && !isThere && <Badge tone="busy">not saved yet</Badge>}
      actions={
        isThere &&
        mayI('functions', 'delete', { deviceIdentifier: '*' }) && (
          <ConfirmButton
            button="Delete"
            buttonKind="danger"
            title={`Delete ${name}?`}
            onConfirm={remove}
            confirm="Delete template"
          >
            <p>Functions that name it send no mail from then on; each that was asked for is counted as a failure.</p>
          </ConfirmButton>
        )
      }
    >
      <BackTo place="Templates" />
      <CallResult called={called}>
        {({ template }) => (
          <ConcurrentEdit found={template} what="this template">
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
                  notify(`The template ${name} is saved`)
                  called.again()
                }}
              />
            )}
          </ConcurrentEdit>
        )}
      </CallResult>
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

interface TemplateFormProps {
  readonly start: Words
  /** May be saved without a change. */
  readonly isNew: boolean
  readonly isDirty: boolean
  readonly onDirty: () => void
  readonly isReadOnly: boolean
  readonly onSubmit: (locales: Record<string, { subject: string; text: string; html?: string }>) => Promise<void>
}

const likelyLocales = ['de', 'de-CH', 'es', 'fr', 'it', 'ja', 'nl', 'pl', 'pt', 'zh']

/** Edits the texts of a mail by language, with a preview. Contract 5.5. */
function TemplateForm({ start, isNew, isDirty, onDirty, isReadOnly, onSubmit }: TemplateFormProps) {
  const [words, setWords] = useState(start)
  const [locale, setLocale] = useState('en')
  const [problem, setProblem] = useState<unknown>(undefined)
  const change = (next: Words) => {
    setWords(next)
    setProblem(undefined)
    onDirty()
  }
  const shown = words[locale] ?? words.en
  if (!shown) return null
  const send = async () => {
    setProblem(undefined)
    try {
      await onSubmit(sentOf(words))
    } catch (thrown) {
      setProblem(thrown)
      throw thrown
    }
  }
  const faultOf = (each: string) => detailUnder(problem, `locales.${each}`) ?? mustacheFaultOf(words[each])
  const tabs = Object.keys(words).map((each) => ({
    id: each,
    title: faultOf(each) === undefined ? each : `▲ ${each}`,
  }))
  const fields = (
    <Tabs label="Locales" tabs={tabs} selected={locale} onSelect={setLocale}>
      <LocaleFields
        key={locale}
        locale={locale}
        words={shown}
        problem={problem}
        isReadOnly={isReadOnly}
        onWords={(next) => change({ ...words, [locale]: next })}
      />
      {!isReadOnly && locale !== 'en' && (
        <Button
          kind="quiet"
          onPress={() => {
            const { [locale]: _, ...rest } = words
            setLocale('en')
            change(rest)
          }}
        >
          Take {locale} out
        </Button>
      )}
    </Tabs>
  )
  return (
    <div class="columns">
      <Section title="Texts">
        {isReadOnly ? (
          fields
        ) : (
          <Form submit="Save" onSubmit={send} isDisabled={!isDirty && !isNew} isUnsaved={isDirty} label="Template">
            {fields}
            <NewLocale
              known={Object.keys(words)}
              onLocale={(added) => {
                change({ ...words, [added]: { ...shown } })
                setLocale(added)
              }}
            />
          </Form>
        )}
        <Cheatsheet />
      </Section>
      <TemplatePreview words={words} locale={locale} />
    </div>
  )
}

interface LocaleFieldsProps {
  readonly locale: string
  readonly words: WordsOfLocale
  readonly problem: unknown
  readonly isReadOnly: boolean
  readonly onWords: (words: WordsOfLocale) => void
}

function LocaleFields({ locale, words, problem, isReadOnly, onWords }: LocaleFieldsProps) {
  const problemOf = (part: keyof WordsOfLocale) =>
    detailUnder(problem, `locales.${locale}.${part}`) ?? faultIn(words[part])
  const { html, ...rest } = words
  return (
    <div class="form">
      <TextField
        label="Subject"
        value={words.subject}
        onInput={(subject) => onWords({ ...words, subject })}
        problem={problemOf('subject')}
        maxLength={256}
        isReadOnly={isReadOnly}
      />
      <TextField
        label="Text"
        value={words.text}
        onInput={(text) => onWords({ ...words, text })}
        problem={problemOf('text')}
        rows={8}
        isReadOnly={isReadOnly}
      />
      {!isReadOnly && (
        <Checkbox
          label="Also as HTML"
          hint="In addition to the text, for mail programs that support it."
          isChecked={html !== undefined}
          onChange={(isChecked) => onWords(isChecked ? { ...rest, html: '<p>{{value}}</p>' } : rest)}
        />
      )}
      {html !== undefined && (
        <TextField
          label="HTML"
          value={html}
          onInput={(next) => onWords({ ...words, html: next })}
          problem={problemOf('html')}
          rows={8}
          isReadOnly={isReadOnly}
          isCode
        />
      )}
    </div>
  )
}

function NewLocale({
  known,
  onLocale,
}: {
  readonly known: readonly string[]
  readonly onLocale: (locale: string) => void
}) {
  const [typed, setTyped] = useState('')
  const isLocale = /^[a-z]{2}(-[A-Z]{2})?$/.test(typed)
  const fault = typed === '' || isLocale ? undefined : 'A language such as de, optionally with a region: de-CH'
  const problem = known.includes(typed) ? 'It exists already' : fault
  const add = () => {
    if (!isLocale || problem) return
    onLocale(typed)
    setTyped('')
  }
  return (
    <div class="field-with-button">
      <SuggestField
        label="Another locale"
        hint="Starts with a copy of the texts above. A reader of de-CH gets de-CH, or de, or en, whichever exists."
        value={typed}
        onInput={setTyped}
        onEnter={add}
        suggestions={likelyLocales.filter((each) => !known.includes(each)).map((value) => ({ value }))}
        placeholder="de"
        maxLength={5}
        problem={problem}
      />
      <Button onPress={add} isDisabled={!isLocale || problem !== undefined}>
        Add
      </Button>
    </div>
  )
}

const tags: readonly (readonly [tag: string, meaning: string])[] = [
  ['{{value}} {{previous}}', 'the new value, and the previous one'],
  ['{{deviceIdentifier}}', 'the device'],
  ['{{service}} {{property}}', 'for a value: the names in the schema'],
  ['{{alarm}}', 'for an alarm: its name'],
  ['{{date}} {{time}}', 'the time: 2026-11-14T22:13:20.000Z, and in Unix milliseconds'],
  ['{{meta.site}}', 'metadata of the device'],
  ['{{function}} {{on}}', 'the function, and its trigger: property, alarm or status'],
  ['{{#value}} … {{/value}}', 'only if there is a value'],
  ['{{^value}} … {{/value}}', 'only if there is no value'],
]

function Cheatsheet() {
  return (
    <details class="cheatsheet">
      <summary>Variables</summary>
      <dl class="facts">
        {tags.map(([tag, meaning]) => (
          <Fragment key={tag}>
            <dt class="code">{tag}</dt>
            <dd>{meaning}</dd>
          </Fragment>
        ))}
      </dl>
    </details>
  )
}

function mustacheFaultOf(words: WordsOfLocale | undefined): string | undefined {
  return faultIn(words?.subject) ?? faultIn(words?.text) ?? faultIn(words?.html)
}

/** The fault that the server would report. */
function faultIn(text: string | undefined): string | undefined {
  const parsed = parseMustache(text ?? '')
  return 'message' in parsed ? `Line ${parsed.line}: ${parsed.message}` : undefined
}

function sentOf(words: Words): Record<string, { subject: string; text: string; html?: string }> {
  return Object.fromEntries(
    Object.entries(words).map(([locale, { subject, text, html }]) => [
      locale,
      { subject, text, ...(html !== undefined && { html }) },
    ]),
  )
}
