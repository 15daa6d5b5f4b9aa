import { comparisons, type Row, rowsOf } from '#dashboard/conditions/rows'
import type { Condition } from '#model/condition'
import type { JsonObject, JsonValue } from '#model/json-value'
import type { ServiceSchema } from '#model/service-schema'

/** A condition in words, or as JSON if rows cannot express it. */
export function conditionInWords(condition: Condition, operands: readonly Operand[]): string {
  const read = rowsOf(condition, operands)
  if (!read) return writeJson(condition)
  return read.rows.map((row) => rowInWords(row, operandNamed(operands, row.name))).join(` ${read.join} `)
}

function rowInWords({ comparison, values }: Row, { label, unit, choices }: Operand): string {
  const named = values
    .flatMap((value) => (comparison === 'oneOf' ? value.split(', ') : [value]))
    .map((value) => choices?.find((choice) => choice.value === value)?.label ?? value)
  const text = named.join(comparison === 'between' ? ' and ' : ', ')
  return [label, comparisons[comparison].label, text, named.length > 0 ? unit : undefined].filter(Boolean).join(' ')
}

/** JSON that users type. */

/** The parsed value, or a description of the fault. */
export function readJson(text: string): { readonly value: JsonValue } | { readonly fault: string } {
  if (text.trim() === '') return { fault: 'Write some JSON' }
  try {
    return { value: JSON.parse(text) as JsonValue }
  } catch (error) {
    return { fault: `This is no JSON: ${(error as SyntaxError).message}` }
  }
}

/** Formats a value for reading. */
export function writeJson(value: JsonValue): string {
  const whole = JSON.stringify(value)
  return whole.length <= 60 ? whole : JSON.stringify(value, null, 2)
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The names that a condition may use. Contract 5.2. */

/** The type of the values to compare with. */
export type Kind = 'number' | 'text' | 'switch' | 'unknown'

export interface Operand {
  /** The name in `var`. */
  readonly name: string
  readonly label: string
  readonly kind: Kind
  readonly unit?: string
  /** The only possible values, with their labels. */
  readonly choices?: readonly { readonly value: string; readonly label: string }[]
}

const textTypes: ReadonlySet<string> = new Set(['string', 'uuid', 'binary'])

/** The comparable properties of a service, named by its schema; lists of values cannot be compared. */
export function operandsOf(schema: ServiceSchema | undefined): readonly Operand[] {
  return Object.values(schema?.properties ?? {})
    .filter(({ type = '' }) => !/-array$|-stream$/.test(type))
    .map(({ name, type, unit, enum: entries }) => ({
      name,
      label: name,
      kind: kindOf(type),
      ...(unit !== undefined && { unit }),
      ...(entries && type !== 'bool' && { choices: choicesOf(entries) }),
    }))
}

/** Operands of functions. Contract 5.4. */
export const runOperands: readonly Operand[] = [
  { name: 'value', label: 'the value', kind: 'unknown' },
  { name: 'previous', label: 'the previous value', kind: 'unknown' },
  { name: 'device', label: 'the device', kind: 'text' },
  { name: 'time', label: 'the time (Unix ms)', kind: 'number' },
]

/** A name without description: for a service without schema, by id, or inside of metadata. */
function unknownOperand(name: string): Operand {
  return { name, label: name, kind: 'unknown' }
}

/** The operand of this name, or an unknown one. */
export function operandNamed(operands: readonly Operand[], name: string): Operand {
  return operands.find((operand) => operand.name === name) ?? unknownOperand(name)
}

function kindOf(type: string | undefined): Kind {
  if (type === undefined) return 'unknown'
  if (type === 'bool') return 'switch'
  return textTypes.has(type) ? 'text' : 'number'
}

function choicesOf(entries: Readonly<Record<string, { readonly name: string }>>) {
  return Object.entries(entries).map(([value, { name }]) => ({ value, label: name }))
}
