import type { ServiceView } from '#client/client'
import { valueNow } from '#dashboard/binding/target'
import { hexOf } from '#dashboard/values/format-value'
import type { ServiceSchema } from '#model/service-schema'

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
  const named = Object.entries(schema?.properties ?? {}).map(([id, { name, type, unit, enum: entries }]) => ({
    name,
    id,
    label: name,
    type,
    example: valueNow(sample, Number(id), schema),
    ...(unit !== undefined && { unit }),
    ...(entries && type !== 'bool' && { choices: choicesOf(entries) }),
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

/** An operand of which only the name is known: a property without a schema, or a field of the metadata. */
function unknownOperand(name: string): Operand {
  return { name, label: name, kind: 'unknown' }
}

/** The operand of this name or id, or an operand of which only the name is known. */
export function operandOf(operands: readonly Operand[], name: string): Operand {
  return operands.find((operand) => operand.name === name || operand.id === name) ?? unknownOperand(name)
}

function kindOf(type: string | undefined): ValueKind {
  if (type === undefined) return 'unknown'
  if (type === 'bool') return 'switch'
  return textTypes.has(type) ? 'text' : 'number'
}

function choicesOf(entries: Readonly<Record<string, { readonly name: string }>>) {
  return Object.entries(entries).map(([value, { name }]) => ({ value, label: name }))
}
