import { type Operator, operators } from '#dashboard/pages/fleet/view'
import type { PropertySchema } from '#dashboard/values/format-value'

/** What a person writes to compare a property with. */

/** A number, where it is one or where the enumeration calls one so; else the text as it is. */
export function wantedOf(text: string, about: PropertySchema | undefined): number | string {
  const trimmed = text.trim()
  const named = Object.entries(about?.enum ?? {}).find(([, { name }]) => name.toLowerCase() === trimmed.toLowerCase())
  if (named) return Number(named[0])
  const spoken = { yes: 1, true: 1, no: 0, false: 0 }[trimmed.toLowerCase()]
  if (spoken !== undefined) return spoken
  const number = Number(trimmed.replace(',', '.'))
  return trimmed === '' || Number.isNaN(number) ? trimmed : number
}

/** Texts and names are equal or not; only numbers are more or less. */
export function operatorsFor(about: PropertySchema | undefined): readonly Operator[] {
  const isNamed = about?.enum !== undefined || ['bool', 'string', 'uuid'].includes(about?.type ?? '')
  return isNamed ? ['=', '≠'] : operators
}
