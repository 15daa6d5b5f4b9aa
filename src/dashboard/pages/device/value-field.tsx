import type { PropertyView } from '#client/client'
import { NumberField, Select, TextField } from '#dashboard/components/fields'
import { limitsOf, writeKindOf } from '#dashboard/pages/device/written-value'
import { enumOptions, type PropertySchema } from '#dashboard/values/format-value'

interface ValueFieldProps {
  readonly label: string
  readonly property: PropertyView
  readonly about: PropertySchema | undefined
  readonly text: string
  readonly onText: (text: string) => void
  readonly problem: string | undefined
}

/** A field for the value of a property, by its type. */
export function ValueField({ label, property, about, text, onText, problem }: ValueFieldProps) {
  const kind = writeKindOf(property, about)
  const shared = { label, problem, hint: about?.description || undefined }
  if (kind === 'number') {
    const { min, max, below, isInteger } = limitsOf(property, about)
    return (
      <NumberField
        {...shared}
        hint={rangeText(min, below, max) ?? shared.hint}
        value={text === '' ? undefined : Number(text)}
        onChange={(number) => onText(number === undefined ? '' : String(number))}
        step={isInteger ? 1 : 'any'}
        unit={about?.unit}
        hasFocus
      />
    )
  }
  if (kind === 'boolean' || kind === 'enumeration') {
    const options = kind === 'boolean' ? booleans : enumOptions(about)
    return <Select {...shared} value={text} options={options} onChange={onText} hasFocus />
  }
  return <TextField {...shared} hint={hints[kind] ?? shared.hint} value={text} onChange={onText} isCode hasFocus />
}

const booleans = [
  { value: 'true', label: 'Yes' },
  { value: 'false', label: 'No' },
]

const hints: Readonly<Record<string, string>> = {
  time: 'For example 2026-01-31T12:00:00, in local time',
  list: 'For example [1, 2, 3]',
}

function rangeText(min: number | undefined, below: number | undefined, max: number | undefined): string | undefined {
  const top = below !== undefined ? `below ${below}` : max !== undefined ? `at most ${max}` : undefined
  if (min === undefined) return top && `${top.charAt(0).toUpperCase()}${top.slice(1)}`
  return top === undefined ? `At least ${min}` : `At least ${min}, ${top}`
}
