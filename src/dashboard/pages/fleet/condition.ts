import { type Operator, operators } from '#dashboard/pages/fleet/view'
import type { PropertySchema } from '#dashboard/values/format-value'

/** Input of a condition on a property. */

/** A number if the text is a number or a name in the enumeration; otherwise the text itself. */
export function parseConditionValue(text: string, about: PropertySchema | undefined): number | string {
  const trimmed = text.trim()
  const named = Object.entries(about?.enum ?? {}).find(([, { name }]) => name.toLowerCase() === trimmed.toLowerCase())
  if (named) return Number(named[0])
  const spoken = { yes: 1, true: 1, no: 0, false: 0 }[trimmed.toLowerCase()]
  if (spoken !== undefined) return spoken
  const number = Number(trimmed.replace(',', '.'))
  return trimmed === '' || Number.isNaN(number) ? trimmed : number
}

/** Numbers have all operators. Texts and names can only be equal or not. */
export function operatorsFor(about: PropertySchema | undefined): readonly Operator[] {
  const isNamed = about?.enum !== undefined || ['bool', 'string', 'uuid'].includes(about?.type ?? '')
  return isNamed ? ['=', '≠'] : operators
}
