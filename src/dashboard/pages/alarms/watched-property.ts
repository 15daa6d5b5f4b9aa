import { type Operand, operandOf, type Row, rowsOf } from '#dashboard/conditions/rows'
import { withUnit } from '#dashboard/values/format-value'
import type { Condition } from '#model/condition'

/** The property that an alarm compares with numbers. */
export interface WatchedProperty {
  readonly propId: number
  readonly thresholds: readonly { readonly value: number; readonly label: string }[]
}

const compared: ReadonlySet<Row['comparison']> = new Set([
  'above',
  'atLeast',
  'below',
  'atMost',
  'between',
  'is',
  'isNot',
])

/**
 * The first property in the condition that is compared with a number, and all of its thresholds. Undefined if there is
 * no such property, or if rows cannot express the condition.
 */
export function watchedProperty(condition: Condition, operands: readonly Operand[]): WatchedProperty | undefined {
  const numeric = (rowsOf(condition, operands)?.rows ?? []).flatMap(({ name, comparison, values }) => {
    const { id = name, unit, choices } = operandOf(operands, name)
    const propId = /^(0x[0-9a-f]+|\d+)$/i.test(id) ? Number(id) : Number.NaN
    const numbers = compared.has(comparison) && !choices ? values.map(Number) : []
    if (Number.isNaN(propId) || numbers.length === 0 || numbers.some(Number.isNaN)) return []
    return [{ propId, thresholds: numbers.map((value) => ({ value, label: withUnit(String(value), unit) })) }]
  })
  const [first] = numeric
  if (!first) return undefined
  const { propId } = first
  return { propId, thresholds: numeric.filter((each) => each.propId === propId).flatMap((each) => each.thresholds) }
}
