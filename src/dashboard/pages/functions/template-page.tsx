import { useState } from 'preact/hooks'
import type { Item } from '#client/client'
import { Button } from '#dashboard/components/button'
import { type Editing, EditPage } from '#dashboard/components/edit-page'
import { Checkbox, Select, TextField, useFault, useFields } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { isLocale, likelyLocales, localeProblem } from '#dashboard/components/locale'
import { Facts, Section } from '#dashboard/components/page'
import { answerOrDefault } from '#dashboard/components/problem-text'
import { Badge } from '#dashboard/components/status'
import { Tabs } from '#dashboard/components/tabs'
import { isObject, readJson } from '#dashboard/conditions/json-text'
import { literalOf } from '#dashboard/conditions/rows'
import { MailView, type ShownMail } from '#dashboard/pages/functions/mail-view'
import type { PageProps } from '#dashboard/routes'
import { client, mayUser } from '#dashboard/session'
import { now } from '#dashboard/timers'
import type { JsonObject } from '#model/json-value'
import { renderMail } from '#model/mail-text'
import { parseMustache } from '#model/mustache'
import '#dashboard/pages/functions/functions.css'

type Template = Item<'GET /templates'>
type TemplateBody = Pick<Template, 'locales'>

/** An example for a new template. */
const exampleTexts: Texts = {
  en: { subject: '{{deviceIdentifier}}: {{property}} is {{value}}', text: 'It was {{previous}} before.\n\n{{date}}' },
}

/** A template, or a new template if the name does not exist. */
export default function TemplatePage({ params: { id: name = '' } }: PageProps) {
  const parameters = { name }
  // Templates apply to all devices.
  const may = (action: 'create' | 'update' | 'delete') => mayUser('functions', action, { deviceIdentifier: '*' })
  return (
    <EditPage<Template, TemplateBody>
      kind="template"
      listPath="/functions/templates"
      name={name}
      read={() => answerOrDefault(client.call('GET /templates/:name', { parameters }), undefined)}
      save={(body, precondition) => client.call('PUT /templates/:name', { ...precondition, parameters, body })}
      remove={() => client.call('DELETE /templates/:name', { parameters })}
      mayDelete={may('delete')}
      deleteEffect="Functions with this template no longer send its mails, and count each as a failure."
      beside={(template) => !template && <Badge tone="busy">not saved yet</Badge>}
    >
      {(editing) => <TemplateForm {...editing} isReadOnly={!may(editing.start ? 'update' : 'create')} />}
    </EditPage>
  )
}

/** The texts of a mail by language, with a preview. Contract 5.5. */
function TemplateForm(props: Editing<Template, TemplateBody> & { readonly isReadOnly: boolean }) {
  const { start, touch, save, form, isReadOnly } = props
  const [texts, setTexts] = useState<Texts>(start?.locales ?? exampleTexts)
  const [locale, setLocale] = useState('en')
  const change = (next: Texts) => {
    setTexts(next)
    touch()
  }
  const shown = texts[locale] ?? texts.en
  if (!shown) return null
  const fields = (
    <Tabs
      label="Locales"
      tabs={Object.keys(texts).map((id) => ({ id, title: <LocaleTitle locale={id} texts={texts[id]} /> }))}
      selected={locale}
      onSelect={setLocale}
    >
      <LocaleFields
        key={locale}
        locale={locale}
        texts={shown}
        isReadOnly={isReadOnly}
        onTexts={(next) => change({ ...texts, [locale]: next })}
      />
      {!isReadOnly && locale !== 'en' && (
        <Button
          kind="quiet"
          onPress={() => {
            const { [locale]: _, ...rest } = texts
            setLocale('en')
            change(rest)
          }}
        >
          Remove {locale}
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
          <Form {...form} onSubmit={() => save({ locales: texts as Template['locales'] })}>
            {fields}
            <NewLocale
              known={Object.keys(texts)}
              onLocale={(added) => {
                change({ ...texts, [added]: { ...shown } })
                setLocale(added)
              }}
            />
          </Form>
        )}
        <details class="cheatsheet">
          <summary>Variables</summary>
          <Facts facts={variables} />
        </details>
      </Section>
      <TemplatePreview texts={texts} locale={locale} />
    </div>
  )
}

function LocaleTitle({ locale, texts }: { readonly locale: string; readonly texts: ShownMail | undefined }) {
  const mustacheFaults = [texts?.subject, texts?.text, texts?.html].map(mustacheFault)
  const isFaulty = useFault({ path: `locales.${locale}` }) !== undefined || mustacheFaults.some(Boolean)
  return <>{isFaulty ? `▲ ${locale}` : locale}</>
}

interface LocaleFieldsProps {
  readonly locale: string
  readonly texts: ShownMail
  readonly isReadOnly: boolean
  readonly onTexts: (texts: ShownMail) => void
}

function LocaleFields({ locale, texts, isReadOnly, onTexts }: LocaleFieldsProps) {
  const { html, ...rest } = texts
  const field = (name: keyof ShownMail) => ({
    value: texts[name] ?? '',
    onChange: (text: string) => onTexts({ ...texts, [name]: text }),
    problem: mustacheFault(texts[name]),
    path: `locales.${locale}.${name}`,
    isReadOnly,
  })
  return (
    <div class="form">
      <TextField label="Subject" {...field('subject')} maxLength={256} />
      <TextField label="Text" {...field('text')} rows={8} />
      {!isReadOnly && (
        <Checkbox
          label="Also as HTML"
          hint="In addition to the text, for mail programs that support it."
          value={html !== undefined}
          onChange={(isChecked) => onTexts(isChecked ? { ...rest, html: '<p>{{value}}</p>' } : rest)}
        />
      )}
      {html !== undefined && <TextField label="HTML" {...field('html')} rows={8} isCode />}
    </div>
  )
}

interface NewLocaleProps {
  readonly known: readonly string[]
  readonly onLocale: (locale: string) => void
}

function NewLocale({ known, onLocale }: NewLocaleProps) {
  const [typed, setTyped] = useState('')
  const problem = known.includes(typed) ? 'This locale exists.' : localeProblem(typed)
  const isAddable = isLocale(typed) && problem === undefined
  const add = () => {
    if (!isAddable) return
    onLocale(typed)
    setTyped('')
  }
  return (
    <div class="field-row">
      <TextField
        label="Add a locale"
        hint="Starts with a copy of the texts above. A reader of de-CH gets de-CH, or de, or en, whichever exists."
        value={typed}
        onChange={setTyped}
        onEnter={add}
        suggestions={likelyLocales.filter((each) => !known.includes(each)).map((value) => ({ value }))}
        placeholder="de"
        maxLength={5}
        problem={problem}
      />
      <Button onPress={add} isDisabled={!isAddable}>
        Add
      </Button>
    </div>
  )
}

const variables = {
  '{{value}} {{previous}}': 'the new value, and the previous one',
  '{{deviceIdentifier}}': 'the device',
  '{{service}} {{property}}': 'for a value: the names in the schema',
  '{{alarm}}': 'for an alarm: its name',
  '{{date}} {{time}}': 'the time: 2026-11-14T22:13:20.000Z, and in Unix milliseconds',
  '{{meta.site}}': 'metadata of the device',
  '{{function}} {{on}}': 'the function, and its trigger: property, alarm or status',
  '{{#value}} … {{/value}}': 'only if there is a value',
  '{{^value}} … {{/value}}': 'only if there is no value',
}

/** The fault that the server would report. */
function mustacheFault(text: string | undefined): string | undefined {
  const parsed = parseMustache(text ?? '')
  return 'message' in parsed ? `Line ${parsed.line}: ${parsed.message}` : undefined
}

/** By locale; always contains `en`. */
type Texts = Readonly<Record<string, ShownMail>>

const triggers = [
  { value: 'property', label: 'a value' },
  { value: 'alarm', label: 'an alarm' },
  { value: 'status', label: 'a change of status' },
] as const

type Trigger = (typeof triggers)[number]['value']

const valuesOf: Readonly<Record<Trigger, { readonly value: string; readonly previous: string }>> = {
  property: { value: '31.5', previous: '29' },
  alarm: { value: 'true', previous: 'false' },
  status: { value: 'offline', previous: 'online' },
}

const samples = {
  on: 'property' as Trigger,
  ...valuesOf.property,
  device: 'SENSOR-1',
  meta: '{"name":"Sensor 1","site":"Bern","floor":2,"room":"2.04"}',
}

/** Renders the mail by the server's rules while the user types. */
function TemplatePreview({ texts, locale }: { readonly texts: Texts; readonly locale: string }) {
  const { values: sample, set, field } = useFields(samples)
  const [at] = useState(now)
  const read = readJson(sample.meta || '{}')
  const meta = 'value' in read && isObject(read.value) ? read.value : undefined
  const mail = mailOf(texts, locale, dataOf(sample, meta ?? {}, at))
  return (
    <Section title={`Preview in ${locale}`}>
      <div class="form">
        {'fault' in mail ? (
          <p class="problem">{mail.fault}</p>
        ) : (
          <MailView label={`Preview in ${locale}`} mail={mail} />
        )}
        <details>
          <summary>Sample values</summary>
          <div class="form">
            <Select
              label="Trigger"
              value={sample.on}
              options={triggers}
              onChange={(on) => set({ on, ...valuesOf[on] })}
            />
            <TextField label="Value" {...field('value')} />
            <TextField label="Previous value" {...field('previous')} />
            <TextField label="Device" {...field('device')} />
            <TextField
              label="Metadata as JSON"
              {...field('meta')}
              rows={2}
              isCode
              problem={meta ? undefined : 'fault' in read ? read.fault : 'Must be an object, such as {"site":"Bern"}.'}
            />
          </div>
        </details>
      </div>
    </Section>
  )
}

function mailOf(texts: Texts, locale: string, data: JsonObject): ShownMail | { readonly fault: string } {
  try {
    return renderMail({ locales: texts as Parameters<typeof renderMail>[0]['locales'] }, locale, data)
  } catch (problem) {
    return { fault: `The preview failed: ${(problem as Error).message}` }
  }
}

/** The variables of a function's mail. Contract 5.5. */
function dataOf({ on, value, previous, device }: typeof samples, meta: JsonObject, at: number): JsonObject {
  const triggerFields = {
    property: { service: 'Climate', property: 'temperature' },
    alarm: { alarm: 'Too warm' },
    status: {},
  }[on]
  return {
    value: literalOf(value, 'unknown') ?? null,
    previous: literalOf(previous, 'unknown') ?? null,
    device,
    deviceIdentifier: device,
    time: at,
    date: new Date(at).toISOString(),
    meta,
    function: 'Heat',
    on,
    ...triggerFields,
  }
}
