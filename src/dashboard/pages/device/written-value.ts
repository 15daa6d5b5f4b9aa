import type { PropertyView } from '#client/client'
import { readJson } from '#dashboard/conditions/json-text'
import { localTime, type PropertySchema } from '#dashboard/values/format-value'

/** Parses and checks input for a property. The server checks it again. Contract 3.5 */

export type WriteKind = 'boolean' | 'enumeration' | 'number' | 'big integer' | 'time' | 'list' | 'text'

export type ParsedValue = { readonly value: NonNullable<PropertyView['value']> } | { readonly fault: string }

const integerRanges: Readonly<Record<string, readonly [min: number, max: number]>> = {
  UINT8: [0, 255],
  UINT16: [0, 65_535],
  UINT32: [0, 4_294_967_295],
  INT8: [-128, 127],
  INT16: [-32_768, 32_767],
  INT32: [-2_147_483_648, 2_147_483_647],
}

export function isWritable(property: PropertyView, about: PropertySchema | undefined): boolean {
  return !property.modifier.isReadOnly && about?.readonly !== true
}

/** Whether writing any value triggers an action. */
export function isTrigger(property: PropertyView, about: PropertySchema | undefined): boolean {
  return property.modifier.isActionable || about?.actionable === true
}

export function writeKindOf({ type }: PropertyView, about: PropertySchema | undefined): WriteKind {
  if (type.endsWith('-ARRAY')) return 'list'
  if (about?.enum && Object.keys(about.enum).length > 0) return 'enumeration'
  if (type === 'BOOL') return 'boolean'
  if (type === 'UINT64' || type === 'INT64') return 'big integer'
  if (type === 'DATETIME') return 'time'
  return type === 'FLOAT' || type === 'FLOAT64' || integerRanges[type] ? 'number' : 'text'
}

/** The current value as text for the form; without a value, the first choice. */
export function textOf(property: PropertyView, about: PropertySchema | undefined): string {
  const { value, type } = property
  const kind = writeKindOf(property, about)
  if (kind === 'boolean') return String(isTrigger(property, about) || value !== false)
  if (kind === 'enumeration') {
    const keys = Object.keys(about?.enum ?? {})
    const key = String(typeof value === 'boolean' ? Number(value) : value)
    return keys.includes(key) ? key : (keys[0] ?? '')
  }
  if (value === undefined) return ''
  if (typeof value === 'object') return JSON.stringify(value)
  return type === 'DATETIME' ? localTime(Number(value)) : String(value)
}

/** The range of the input field; `rangeMax` of the schema is exclusive. */
export function limitsOf({ type }: PropertyView, about: PropertySchema | undefined) {
  const [typeMin, typeMax] = integerRanges[type] ?? []
  return {
    min: about?.rangeMin ?? typeMin,
    below: about?.rangeMax,
    max: typeMax,
    isInteger: integerRanges[type] !== undefined,
  }
}

export function parseValue(text: string, property: PropertyView, about: PropertySchema | undefined): ParsedValue {
  const trimmed = text.trim()
  const kind = writeKindOf(property, about)
  switch (kind) {
    case 'boolean':
      return { value: trimmed === 'true' }
    case 'enumeration':
      return parseNamed(trimmed, property)
    case 'number':
    case 'big integer':
      return parseNumber(trimmed, kind === 'big integer', limitsOf(property, about))
    case 'time': {
      const at = Date.parse(trimmed)
      return Number.isNaN(at) ? { fault: 'Must be a date and a time.' } : { value: at }
    }
    case 'list':
      return parseList(trimmed)
    case 'text':
      return { value: text }
  }
}

/** An enumeration is chosen by its decimal key. */
function parseNamed(key: string, { type }: PropertyView): ParsedValue {
  if (type === 'BOOL') return { value: key !== '0' }
  const number = Number(key)
  return { value: type === 'STRING' || !Number.isSafeInteger(number) ? key : number }
}

/** A big integer is sent as text if JSON numbers cannot represent it exactly. */
function parseNumber(text: string, isBig: boolean, limits: ReturnType<typeof limitsOf>): ParsedValue {
  const { min, max, below, isInteger } = limits
  const number = Number(text)
  if (isBig && !/^-?\d{1,20}$/.test(text)) return { fault: 'Must be a whole number.' }
  if (text === '' || !Number.isFinite(number)) return { fault: 'Must be a number.' }
  if (isInteger && !Number.isInteger(number)) return { fault: 'Must be a whole number.' }
  if (min !== undefined && number < min) return { fault: `Must be at least ${min}.` }
  if (below !== undefined && number >= below) return { fault: `Must be below ${below}.` }
  if (max !== undefined && number > max) return { fault: `Must be at most ${max}.` }
  return { value: isBig && !Number.isSafeInteger(number) ? text : number }
}

function parseList(text: string): ParsedValue {
  const read = readJson(text)
  if (!('value' in read) || !Array.isArray(read.value)) return { fault: 'Must be a list such as [1, 2, 3].' }
  return { value: read.value as unknown[] as NonNullable<PropertyView['value']> }
}
