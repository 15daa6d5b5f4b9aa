import { useState } from 'preact/hooks'
import type { PropertyView } from '#client/client'
import type { PropertyRowProps } from '#dashboard/pages/device/property-row'
import { limitsOf, readValue, textOf, writeKindOf } from '#dashboard/pages/device/write-value'
import { NumberField, Select, TextField } from '#dashboard/parts/fields'
import { Form } from '#dashboard/parts/form'
import { Status } from '#dashboard/parts/status'
import { say } from '#dashboard/parts/toasts'
import { client } from '#dashboard/session'
import { nameOf, type PropertySchema } from '#dashboard/values/format-value'

export interface WriteFormProps extends Pick<PropertyRowProps, 'place' | 'property' | 'about' | 'isLinked'> {
  readonly onClose: () => void
}

/** What the device answered. */
interface Outcome {
  readonly status: string
  readonly message?: string | undefined
}

/** Asks the device for another value, and shows what it says; the value itself changes when the device reports it. */
export function WriteForm({ place, property, about, isLinked, onClose }: WriteFormProps) {
  const [text, setText] = useState(() => textOf(property, about))
  const [fault, setFault] = useState<string | undefined>()
  const [outcome, setOutcome] = useState<Outcome | undefined>()
  const name = nameOf(property.propId, about)
  const change = (next: string) => {
    setText(next)
    setFault(undefined)
    setOutcome(undefined)
  }
  const write = async () => {
    setOutcome(undefined)
    const read = readValue(text, property, about)
    setFault('fault' in read ? read.fault : undefined)
    if ('fault' in read) return
    const answer = await client.call('PUT /devices/:deviceIdentifier/services/:serviceIdentifier/properties', {
      parameters: place,
      body: { [String(property.propId)]: read.value },
    })
    const said = answer.updates[0]
    if (!said) return
    setOutcome(said)
    if (said.status === 'OK') say(`${place.deviceIdentifier} took ${name}`)
    else say(`${place.deviceIdentifier} refused ${name}${said.message ? `: ${said.message}` : ''}`, 'failed')
  }
  return (
    <Form submit="Write" onSubmit={write} onCancel={onClose} label={`Change ${name}`}>
      {!isLinked && <p class="notice warning">The device is offline: nothing can be sent to it now.</p>}
      <ValueField label={name} property={property} about={about} text={text} onText={change} problem={fault} />
      {outcome && (
        <p class="outcome" role="status">
          <Status state={outcome.status === 'OK' ? 'done' : 'rejected'}>
            {outcome.status === 'OK'
              ? 'The device took it.'
              : `The device refused${outcome.message ? `: ${outcome.message}` : ' it.'}`}
          </Status>
        </p>
      )}
    </Form>
  )
}

interface ValueFieldProps {
  readonly label: string
  readonly property: PropertyView
  readonly about: PropertySchema | undefined
  readonly text: string
  readonly onText: (text: string) => void
  readonly problem: string | undefined
}

function ValueField({ label, property, about, text, onText, problem }: ValueFieldProps) {
  const kind = writeKindOf(property, about)
  const shared = { label, problem, hint: about?.description || undefined }
  if (kind === 'number') {
    const { min, max, below, isInteger } = limitsOf(property, about)
    return (
      <NumberField
        {...shared}
        hint={rangeText(min, below, max) ?? shared.hint}
        value={text === '' ? undefined : Number(text)}
        onInput={(number) => onText(number === undefined ? '' : String(number))}
        step={isInteger ? 1 : 'any'}
        unit={about?.unit}
        hasFocus
      />
    )
  }
  if (kind === 'boolean' || kind === 'enumeration') {
    const options = kind === 'boolean' ? booleans : namesOf(about)
    return <Select {...shared} value={text} options={options} onChange={onText} hasFocus />
  }
  return <TextField {...shared} hint={hints[kind] ?? shared.hint} value={text} onInput={onText} isCode hasFocus />
}

const booleans = [
  { value: 'true', label: 'Yes' },
  { value: 'false', label: 'No' },
]

const hints: Readonly<Record<string, string>> = {
  time: 'Such as 2026-01-31T12:00:00, in the time of this machine',
  list: 'Such as [1, 2, 3]',
}

function namesOf(about: PropertySchema | undefined) {
  return Object.entries(about?.enum ?? {}).map(([value, { name }]) => ({ value, label: name }))
}

function rangeText(min: number | undefined, below: number | undefined, max: number | undefined): string | undefined {
  const top = below !== undefined ? `below ${below}` : max !== undefined ? `at most ${max}` : undefined
  if (min === undefined) return top && `${top.charAt(0).toUpperCase()}${top.slice(1)}`
  return top === undefined ? `At least ${min}` : `At least ${min}, ${top}`
}
