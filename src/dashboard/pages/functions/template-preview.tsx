import { useState } from 'preact/hooks'
import { Select, TextField, useFields } from '#dashboard/components/fields'
import { Section } from '#dashboard/components/page'
import { isObject, readJson } from '#dashboard/conditions/json-text'
import { literalOf } from '#dashboard/conditions/rows'
import { MailView, type ShownMail } from '#dashboard/pages/functions/mail-view'
import { now } from '#dashboard/timers'
import type { JsonObject } from '#model/json-value'
import { renderMail } from '#model/mail-text'

/** By locale; always contains `en`. */
export type Texts = Readonly<Record<string, ShownMail>>

const triggers = [
  { value: 'property', label: 'a value' },
  { value: 'alarm', label: 'an alarm' },
  { value: 'status', label: 'a change of status' },
] as const

const samples = {
  on: 'property' as 'property' | 'alarm' | 'status',
  value: '31.5',
  previous: '29',
  device: 'SENSOR-1',
  meta: '{"name":"Sensor 1","site":"Bern","floor":2,"room":"2.04"}',
}

const valuesOf = {
  property: { value: '31.5', previous: '29' },
  alarm: { value: 'true', previous: 'false' },
  status: { value: 'offline', previous: 'online' },
} as const

/** Renders the mail by the server's rules while the user types. */
export function TemplatePreview({ texts, locale }: { readonly texts: Texts; readonly locale: string }) {
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
