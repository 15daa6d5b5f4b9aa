import type { ServiceView } from '#client/client'
import { valueNow } from '#dashboard/binding/target'
import { isObject, writeJson } from '#dashboard/conditions/json-text'
import { enumOptions, hexOf, withUnit } from '#dashboard/values/format-value'
import type { Condition } from '#model/condition'
import type { JsonValue } from '#model/json-value'
import type { ServiceSchema } from '#model/service-schema'

/**
 * Conditions as rows of name, comparison and value, joined by "and" or "or". Other conditions stay JSON: a condition
 * becomes rows only if the rows produce exactly the same condition again. Contract 5.2.
 */

export type ValueKind = 'number' | 'text' | 'switch' | 'unknown'

export interface Operand {
  /** The name in `var`. */
  readonly name: string
  /** `0x2000`: the other name of a property of a schema. */
  readonly id?: string
  readonly label: string
  readonly kind: ValueKind
  readonly unit?: string
  readonly example?: string
  /** The only possible values, with their labels. */
  readonly choices?: readonly { readonly value: string; readonly label: string }[]
}

const textTypes: ReadonlySet<string> = new Set(['string', 'uuid', 'binary'])

/**
 * The comparable properties of a service: those of its schema by name, and others of a device by id. Lists of values
 * cannot be compared.
 */
export function operandsOf(schema: ServiceSchema | undefined, sample?: ServiceView): readonly Operand[] {
  const named = Object.entries(schema?.properties ?? {}).map(([id, about]) => ({
    name: about.name,
    id,
    label: about.name,
    type: about.type,
    example: valueNow(sample, Number(id), schema),
    ...(about.unit !== undefined && { unit: about.unit }),
    ...(about.enum && about.type !== 'bool' && { choices: enumOptions(about) }),
  }))
  const others = [...(sample?.values() ?? [])]
    .filter(({ propId }) => schema?.properties[hexOf(propId)] === undefined)
    .map(({ propId, type }) => {
      const name = hexOf(propId)
      return { name, label: name, type: type.toLowerCase(), example: valueNow(sample, propId, schema) }
    })
  return [...named, ...others]
    .filter(({ type = '' }) => !/-array$|-stream$/.test(type))
    .map(({ type, example, ...operand }) => ({
      ...operand,
      kind: kindOf(type),
      ...(example !== undefined && { example }),
    }))
}

export const runOperands: readonly Operand[] = [
  { name: 'value', label: 'the value', kind: 'unknown' },
  { name: 'previous', label: 'the previous value', kind: 'unknown' },
  { name: 'device', label: 'the device', kind: 'text' },
  { name: 'time', label: 'the time (Unix ms)', kind: 'number' },
]

/**
 * The operand of this name or id. Of a property without a schema, and of a field of the metadata, only the name is known.
 */
export function operandOf(operands: readonly Operand[], name: string): Operand {
  const known = operands.find((operand) => operand.name === name || operand.id === name)
  return known ?? { name, label: name, kind: 'unknown' }
}

function kindOf(type: string | undefined): ValueKind {
  if (type === undefined) return 'unknown'
  if (type === 'bool') return 'switch'
  return textTypes.has(type) ? 'text' : 'number'
}

export interface Row {
  readonly name: string
  readonly comparison: ComparisonId
  /** The typed texts: one text for each value that the comparison needs. */
  readonly values: readonly string[]
}

export interface Rows {
  readonly join: 'and' | 'or'
  readonly rows: readonly Row[]
}

/** A fault in the row at this place, from 0. */
export interface RowFault {
  readonly row: number
  readonly message: string
}

interface Comparison {
  readonly label: string
  /** Compares the property with one value. */
  readonly operator?: string
  /** The number of values; `list`: one text with values separated by commas. */
  readonly values: 0 | 1 | 2 | 'list'
  readonly kinds: readonly ValueKind[]
}

export const comparisons = {
  above: { label: 'is above', operator: '>', values: 1, kinds: ['number', 'unknown'] },
  atLeast: { label: 'is at least', operator: '>=', values: 1, kinds: ['number', 'unknown'] },
  below: { label: 'is below', operator: '<', values: 1, kinds: ['number', 'unknown'] },
  atMost: { label: 'is at most', operator: '<=', values: 1, kinds: ['number', 'unknown'] },
  between: { label: 'is between', values: 2, kinds: ['number', 'unknown'] },
  is: { label: 'is', operator: '==', values: 1, kinds: ['number', 'text', 'unknown'] },
  isNot: { label: 'is not', operator: '!=', values: 1, kinds: ['number', 'text', 'unknown'] },
  oneOf: { label: 'is one of', values: 'list', kinds: ['number', 'text', 'unknown'] },
  contains: { label: 'contains', values: 1, kinds: ['text', 'unknown'] },
  on: { label: 'is on', values: 0, kinds: ['switch', 'unknown'] },
  off: { label: 'is off', values: 0, kinds: ['switch', 'unknown'] },
} as const satisfies Record<string, Comparison>

export type ComparisonId = keyof typeof comparisons
type Literal = string | number | boolean | null

const comparisonIds = Object.keys(comparisons) as ComparisonId[]

/** The comparisons that fit this kind, plus the current comparison. */
export function comparisonsFor(kind: ValueKind, current?: ComparisonId): readonly ComparisonId[] {
  return comparisonIds.filter((id) => id === current || (comparisons[id] as Comparison).kinds.includes(kind))
}

/** The row with another operand; keeps the comparison if it fits. */
export function withOperand(row: Row, operand: Operand): Row {
  const fitting = comparisonsFor(operand.kind)
  const comparison = fitting.includes(row.comparison) ? row.comparison : (fitting[0] ?? 'is')
  const keepsValues = comparison === row.comparison && operand.choices === undefined
  return withComparison({ ...row, name: operand.name, values: keepsValues ? row.values : [] }, comparison)
}

/** The row with another comparison and its number of values. */
export function withComparison(row: Row, comparison: ComparisonId): Row {
  const { values } = comparisons[comparison]
  const count = values === 'list' ? 1 : values
  return { ...row, comparison, values: Array.from({ length: count }, (_, place) => row.values[place] ?? '') }
}

/** The condition of the rows, or the faults of the rows that are not valid. */
export function conditionOf(
  { join, rows }: Rows,
  operands: readonly Operand[],
): { readonly condition: Condition } | { readonly faults: readonly RowFault[] } {
  const faults: RowFault[] = []
  const parts = rows.map((row, place) => {
    const part = partOf(row, operandOf(operands, row.name))
    if (typeof part === 'string') faults.push({ row: place, message: part })
    return part
  })
  const [first] = parts
  if (first === undefined) return { faults: [{ row: 0, message: 'Add a row' }] }
  if (faults.length > 0) return { faults }
  return { condition: parts.length === 1 ? first : { [join]: parts } }
}

/** Undefined for a condition that rows cannot express. */
export function rowsOf(condition: Condition, operands: readonly Operand[]): Rows | undefined {
  const [join, parts] = onlyEntryOf(condition) ?? []
  const isJoined = (join === 'and' || join === 'or') && Array.isArray(parts) && parts.length > 1
  const rows = (isJoined ? parts : [condition]).map((part) => rowOf(part, operands))
  return rows.includes(undefined) ? undefined : { join: isJoined ? join : 'and', rows: rows as Row[] }
}

/** A condition in words, or as JSON if rows cannot express it. */
export function conditionInWords(condition: Condition, operands: readonly Operand[]): string {
  const read = rowsOf(condition, operands)
  if (!read) return writeJson(condition)
  return read.rows.map((row) => rowInWords(row, operandOf(operands, row.name))).join(` ${read.join} `)
}

function rowInWords({ comparison, values }: Row, { label, unit, choices }: Operand): string {
  const named = values
    .flatMap((value) => (comparison === 'oneOf' ? value.split(', ') : [value]))
    .map((value) => choices?.find((choice) => choice.value === value)?.label ?? value)
  const text = named.join(comparison === 'between' ? ' and ' : ', ')
  return [label, comparisons[comparison].label, text, named.length > 0 ? unit : undefined].filter(Boolean).join(' ')
}

/** The condition of one row, or a text if the row has a fault. */
function partOf({ name, comparison, values }: Row, operand: Operand): Exclude<JsonValue, string> | string {
  if (name === '') return 'Choose a property'
  const read = { var: name }
  if (comparison === 'on') return read
  if (comparison === 'off') return { '!': read }
  const texts = comparison === 'oneOf' ? (values[0] ?? '').split(',').map((text) => text.trim()) : values
  const literals = texts.map((text) => literalOf(text, comparison === 'contains' ? 'text' : operand.kind))
  if (literals.includes(undefined)) {
    return operand.kind === 'number' ? 'Enter a number, such as 21.5' : 'Enter a value'
  }
  const [first = null, second = null] = literals as Literal[]
  if (comparison === 'between') return { '<': [first, read, second] }
  if (comparison === 'oneOf') return { in: [read, literals as Literal[]] }
  if (comparison === 'contains') return { in: [first, read] }
  return { [comparisons[comparison].operator]: [read, first] }
}

/** The row that has this condition: tries each comparison with the property and the literals in the condition. */
function rowOf(condition: Condition, operands: readonly Operand[]): Row | undefined {
  const { names, texts } = leavesIn(condition)
  const [name, another] = names
  if (name === undefined || another !== undefined) return undefined
  const text = JSON.stringify(condition)
  return comparisonIds
    .map((comparison) => ({ name, comparison, values: comparison === 'oneOf' ? [texts.join(', ')] : texts }))
    .find((row) => JSON.stringify(partOf(row, operandOf(operands, name))) === text)
}

/** The names of the properties in a condition, and its literals as text. */
function leavesIn(condition: JsonValue): { readonly names: readonly string[]; readonly texts: readonly string[] } {
  const name = nameIn(condition)
  if (name !== undefined) return { names: [name], texts: [] }
  if (typeof condition !== 'object' || condition === null) return { names: [], texts: [textOf(condition)] }
  const leaves = Object.values(condition).map(leavesIn)
  return { names: leaves.flatMap(({ names }) => names), texts: leaves.flatMap(({ texts }) => texts) }
}

function nameIn(condition: JsonValue | undefined): string | undefined {
  const [operator, name] = onlyEntryOf(condition) ?? []
  return operator === 'var' && typeof name === 'string' ? name : undefined
}

function onlyEntryOf(value: JsonValue | undefined): readonly [string, JsonValue] | undefined {
  const [entry, another] = isObject(value) ? Object.entries(value) : []
  return another === undefined ? entry : undefined
}

function textOf(literal: Literal): string {
  return typeof literal === 'string' ? literal : JSON.stringify(literal)
}

/** Parses a text for this kind; undefined if invalid. 64-bit numbers stay decimal text. Contract 3.8. */
export function literalOf(text: string, kind: ValueKind): Literal | undefined {
  if (kind === 'text') return text === '' ? undefined : text
  const plain = text.trim()
  if (/^-?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(plain) && Number.isFinite(Number(plain))) {
    const isExact = !/^-?\d+$/.test(plain) || Number.isSafeInteger(Number(plain))
    return isExact ? Number(plain) : plain
  }
  if (kind === 'number' || plain === '') return undefined
  if (plain === 'true') return true
  if (plain === 'false') return false
  return plain === 'null' ? null : text
}

/** The property that an alarm compares with numbers. */
interface WatchedProperty {
  readonly propId: number
  readonly thresholds: readonly { readonly value: number; readonly label: string }[]
}

/**
 * The first property in the condition that is compared with a number, and all of its thresholds. Undefined if there is
 * no such property, or if rows cannot express the condition.
 */
export function watchedProperty(condition: Condition, operands: readonly Operand[]): WatchedProperty | undefined {
  const numeric = (rowsOf(condition, operands)?.rows ?? []).flatMap(({ name, comparison, values }) => {
    const { id = name, unit, choices } = operandOf(operands, name)
    const propId = /^(0x[0-9a-f]+|\d+)$/i.test(id) ? Number(id) : Number.NaN
    const isCompared = 'operator' in comparisons[comparison] || comparison === 'between'
    const numbers = isCompared && !choices ? values.map(Number) : []
    if (Number.isNaN(propId) || numbers.length === 0 || numbers.some(Number.isNaN)) return []
    return [{ propId, thresholds: numbers.map((value) => ({ value, label: withUnit(String(value), unit) })) }]
  })
  const [first] = numeric
  if (!first) return undefined
  const { propId } = first
  return { propId, thresholds: numeric.filter((each) => each.propId === propId).flatMap((each) => each.thresholds) }
}
