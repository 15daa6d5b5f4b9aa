import type { PropertyView, Schema } from '#client/client'

/** How values are shown to people: by the schema where there is one, by their type where there is none. §2.4 */

/** What the schema says about a property. */
export type PropertySchema = NonNullable<Schema['properties'][string]>

const numbers = new Intl.NumberFormat(undefined, { maximumFractionDigits: 3 })
const integers = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 })
const elementsShown = 8

/** What stands there, without unit; a dash where nothing was reported yet. */
export function valueText(property: PropertyView | undefined, about: PropertySchema | undefined): string {
  if (property === undefined) return '–'
  if (property.tag === 'error') return property.error || 'error'
  return plainText(property.value, property.type, about)
}

/** The same of a value alone. */
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
  if (typeof value === 'number') return Number.isInteger(value) ? integers.format(value) : numbers.format(value)
  if (type === 'BINARY') return `${bytesOf(value)} bytes`
  return value
}

/** What the schema calls a value; `true` and `false` are looked up as 1 and 0. */
export function enumName(value: string | number | boolean, about: PropertySchema | undefined): string | undefined {
  return about?.enum?.[String(typeof value === 'boolean' ? Number(value) : value)]?.name
}

/** A value as a number, where it is one that can be drawn and compared; not what an enumeration names. */
export function numberOf(value: PropertyView['value']): number | undefined {
  if (typeof value === 'number') return value
  if (typeof value === 'boolean') return Number(value)
  return typeof value === 'string' && /^-?\d{1,20}$/.test(value) ? Number(value) : undefined
}

/** What a property is called: by the schema, else by its id as schemas write it. */
export function nameOf(propId: number, about: PropertySchema | undefined): string {
  return about?.name ?? hexOf(propId)
}

/** `0x2000`. §2.4 */
export function hexOf(propId: number): string {
  return `0x${propId.toString(16).padStart(4, '0')}`
}

/** What the schema of a service says about one of its properties. */
export function aboutOf(schema: Schema | undefined, propId: number): PropertySchema | undefined {
  return schema?.properties[hexOf(propId)]
}

function bytesOf(base64: string): number {
  return (base64.length / 4) * 3 - (base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0)
}
