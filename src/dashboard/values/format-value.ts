import type { PropertyView, Schema } from '#client/client'

/** Values as text: by the schema, or by type without one. §2.4 */

export type PropertySchema = NonNullable<Schema['properties'][string]>

const numbers = new Intl.NumberFormat(undefined, { maximumFractionDigits: 3 })
const integers = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 })
const small = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 3 })
const elementsShown = 8

/** At most three decimals; for a small number the first three digits that are not 0. */
export function numberText(value: number): string {
  if (Number.isInteger(value)) return integers.format(value)
  return Math.abs(value) < 0.1 ? small.format(value) : numbers.format(value)
}

/** The value without unit, or the error; a dash before the first report. */
export function valueText(property: PropertyView | undefined, about: PropertySchema | undefined): string {
  if (property === undefined) return '–'
  if (property.tag === 'error') return property.error || 'error'
  return plainText(property.value, property.type, about)
}

/** `1 device`, `12 devices`. */
export function countText(count: number, one: string, several = `${one}s`): string {
  return `${count.toLocaleString()} ${count === 1 ? one : several}`
}

export function withUnit(text: string, unit: string | undefined): string {
  return unit ? `${text} ${unit}` : text
}

export function plainText(value: PropertyView['value'], type: string, about: PropertySchema | undefined): string {
  if (value === undefined) return '–'
  if (typeof value === 'object') {
    const scalarType = type.replace(/-ARRAY$/, '')
    const shown = value.slice(0, elementsShown).map((each) => plainText(each, scalarType, about))
    return value.length > elementsShown ? `${shown.join(', ')} … (${value.length})` : shown.join(', ')
  }
  const name = enumName(value, about)
  if (name !== undefined) return name
  if (typeof value === 'boolean') return value ? 'Yes' : 'No'
  if (type === 'DATETIME') return new Date(Number(value)).toLocaleString()
  if (typeof value === 'number') return numberText(value)
  if (type === 'BINARY') return `${bytesOf(value)} bytes`
  return value
}

/** The name of a value in the enumeration; `true` and `false` are 1 and 0. */
export function enumName(value: string | number | boolean, about: PropertySchema | undefined): string | undefined {
  return about?.enum?.[String(typeof value === 'boolean' ? Number(value) : value)]?.name
}

/** The values of an enumeration, to choose from by name. */
export function enumOptions(about: PropertySchema | undefined) {
  return Object.entries(about?.enum ?? {}).map(([value, { name }]) => ({ value, label: name }))
}

/** A value as a number if it can be drawn and compared; not for enumerations. */
export function numberOf(value: PropertyView['value']): number | undefined {
  if (typeof value === 'number') return value
  if (typeof value === 'boolean') return Number(value)
  return typeof value === 'string' && /^-?\d{1,20}$/.test(value) ? Number(value) : undefined
}

/** The name of a property: from the schema, or its id in the form of schemas. */
export function nameOf(propId: number, about: PropertySchema | undefined): string {
  return about?.name ?? hexOf(propId)
}

/** `0x2000`. §2.4 */
export function hexOf(propId: number): string {
  return `0x${propId.toString(16).padStart(4, '0')}`
}

export function schemaOfProperty(schema: Schema | undefined, propId: number): PropertySchema | undefined {
  return schema?.properties[hexOf(propId)]
}

/** `2026-01-31T12:00:00`: the local time, as date-time fields contain it. */
export function localTime(at: number): string {
  const date = new Date(at)
  return new Date(at - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19)
}

/** Lengths of time, the largest first. */
const timeUnits = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
] as const

/** `4 min`: milliseconds in the largest unit, rounded down. */
export function duration(ms: number): string {
  const [unitMs, name] = timeUnits.find(([unit]) => ms >= unit) ?? timeUnits[3]
  return `${Math.floor(ms / unitMs)} ${name}`
}

/** `90 s`, `2 h`: milliseconds in the largest unit that divides them. */
export function exactDuration(ms: number): string {
  const [unitMs, name] = timeUnits.find(([unit]) => ms > 0 && ms % unit === 0) ?? timeUnits[3]
  return `${ms / unitMs} ${name}`
}

/** `12.5 MB`: bytes in the largest unit. */
export function bytesText(bytes: number): string {
  const units = ['bytes', 'KB', 'MB', 'GB']
  let place = 0
  let size = bytes
  while (size >= 1_000 && place < units.length - 1) {
    size /= 1_000
    place += 1
  }
  return `${place === 0 ? size : size.toFixed(size < 10 ? 2 : 1)} ${units[place]}`
}

function bytesOf(base64: string): number {
  return (base64.length / 4) * 3 - (base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0)
}
