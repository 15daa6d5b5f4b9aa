import { writeJson } from '#dashboard/conditions/json-text'
import { type Operand, operandNamed } from '#dashboard/conditions/operand'
import { comparisons, type Row, rowsOf } from '#dashboard/conditions/rows'
import type { Condition } from '#model/condition'

/** What a condition says, for people; one that rows cannot say is shown as JSON. */
export function conditionInWords(condition: Condition, operands: readonly Operand[]): string {
  const read = rowsOf(condition, operands)
  if (!read) return writeJson(condition)
  return read.rows.map((row) => rowInWords(row, operandNamed(operands, row.name))).join(` ${read.join} `)
}

function rowInWords({ comparison, values }: Row, { label, unit, choices }: Operand): string {
  const named = values
    .flatMap((value) => (comparison === 'oneOf' ? value.split(', ') : [value]))
    .map((value) => choices?.find((choice) => choice.value === value)?.label ?? value)
  const said = named.join(comparison === 'between' ? ' and ' : ', ')
  return [label, comparisons[comparison].label, said, named.length > 0 ? unit : undefined].filter(Boolean).join(' ')
}
