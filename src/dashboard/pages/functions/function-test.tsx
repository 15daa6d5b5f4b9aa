import { useState } from 'preact/hooks'
import type { Answer, Body } from '#client/client'
import type { Names } from '#dashboard/binding/binding'
import { DeviceField } from '#dashboard/binding/binding-fields'
import { useNames } from '#dashboard/binding/known-names'
import { Select, TextField, useFields } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { Section } from '#dashboard/components/page'
import { readJson } from '#dashboard/conditions/json-text'
import { literalOf } from '#dashboard/conditions/rows'
import { draftOf, isTrigger, nodeInWords, noFaults } from '#dashboard/pages/functions/graph-draft'
import { GraphPicture } from '#dashboard/pages/functions/graph-picture'
import { MailView } from '#dashboard/pages/functions/mail-view'
import { showCard } from '#dashboard/pages/functions/node-card'
import { client } from '#dashboard/session'
import type { Graph } from '#model/graph'

type TestAnswer = Answer<'POST /functions/:functionId/test'>
type TestResult = TestAnswer & { readonly graph: Graph }
type Sample = Body<'POST /functions/:functionId/test'>['sample']

interface FunctionTestProps {
  readonly id: string
  readonly graph: Graph
  /** Unsaved changes are not tested. */
  readonly isDirty: boolean
}

/** As typed; empty fields are omitted. */
const emptySample = { trigger: '', value: '', previous: '', deviceIdentifier: '', meta: '', locale: '' }

/** Runs a function with a sample on the server: sends nothing, and ignores throttles. Contract 5.4. */
export function FunctionTest({ id, graph, isDirty }: FunctionTestProps) {
  const { values: typed, field: fieldOf } = useFields(emptySample)
  const [result, setResult] = useState<TestResult>()
  const field = (name: keyof typeof emptySample) => ({ ...fieldOf(name), path: `sample.${name}` })
  const run = async () => {
    const sample = sampleOf(typed)
    const parameters = { functionId: id }
    setResult({ ...(await client.call('POST /functions/:functionId/test', { parameters, body: { sample } })), graph })
  }
  const names = useNames()
  const triggers = draftOf(graph).nodes.filter(isTrigger)
  return (
    <Section title="Test">
      <div class="columns">
        <Form submit="Run test" onSubmit={run} label="Sample">
          {isDirty && (
            <p class="notice" role="status">
              The test runs the saved function, without your unsaved changes.
            </p>
          )}
          {triggers.length > 1 && (
            <Select
              label="Trigger"
              {...field('trigger')}
              options={[
                { value: '', label: 'the one that fits the value' },
                ...triggers.map((node) => ({ value: node.id, label: `${node.id}: ${nodeInWords(node, names)}` })),
              ]}
            />
          )}
          <TextField
            label="Value"
            hint="A number, a text; true or false for an alarm; online, idle or offline for a device."
            placeholder="31.5"
            {...field('value')}
          />
          <TextField label="Previous value" placeholder="29" {...field('previous')} />
          <DeviceField {...field('deviceIdentifier')} />
          <TextField label="Metadata as JSON" placeholder='{"site":"Bern"}' rows={2} isCode {...field('meta')} />
          <TextField label="Locale of the reader" placeholder="en" {...field('locale')} />
        </Form>
        {result && <Outcome result={result} names={names} />}
      </div>
    </Section>
  )
}

function Outcome({ result, names }: { readonly result: TestResult; readonly names: Names }) {
  const { path, stopped, mails, graph } = result
  return (
    <div class="test-outcome" role="status">
      <h3>Path</h3>
      {path.length === 0 ? <p>No trigger fits this value.</p> : <p class="code">{path.join(' → ')}</p>}
      <GraphPicture draft={draftOf(graph)} names={names} faults={noFaults} trail={result} onNode={showCard} />
      {stopped.length > 0 && (
        <ul>
          {stopped.map(({ node, because }) => (
            <li key={node}>
              Stopped at <span class="code">{node}</span>: {reasons[because] ?? because}
            </li>
          ))}
        </ul>
      )}
      <h3>{mails.length === 0 ? 'No mail would be sent' : 'Mails that would be sent'}</h3>
      {mails.map((mail) =>
        'error' in mail ? (
          <p key={mail.node} class="problem">
            {mail.node}, by the template {mail.template}: {mailErrors[mail.error]}
          </p>
        ) : (
          <MailView key={mail.node} label={`Mail of ${mail.node}, in ${mail.locale}`} mail={mail} />
        ),
      )}
    </div>
  )
}

const reasons: Readonly<Record<string, string>> = {
  false: 'its condition is false',
  error: 'its condition cannot be evaluated with this value',
}

const mailErrors = {
  no_template: 'the template does not exist, so no mail would be sent',
  too_large: 'the mail would be too large',
  left_out: 'it would be sent, but is too large to be shown here',
} as const

function sampleOf(typed: typeof emptySample): Sample {
  const { trigger, value, previous, deviceIdentifier, meta, locale } = typed
  const read = meta.trim() === '' ? undefined : readJson(meta)
  if (read && 'fault' in read) throw new Error(`Metadata: ${read.fault}`)
  return {
    ...(trigger !== '' && { trigger }),
    ...(value.trim() !== '' && { value: literalOf(value, 'unknown') ?? null }),
    ...(previous.trim() !== '' && { previous: literalOf(previous, 'unknown') ?? null }),
    ...(deviceIdentifier.trim() !== '' && { deviceIdentifier: deviceIdentifier.trim() }),
    ...(read && { meta: read.value as NonNullable<Sample['meta']> }),
    ...(locale.trim() !== '' && { locale: locale.trim() }),
  }
}
