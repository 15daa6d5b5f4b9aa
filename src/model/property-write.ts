import { z } from 'zod'
import { propertiesMax } from '#model/link-message'
import { modifierFlags } from '#model/modifier'
import { type PropertyType, type PropertyValue, propertyTypeOf } from '#model/property-type'
import {
  enumValueOf,
  type PropertySchema,
  propertySchemaOf,
  propIdOfName,
  type ServiceSchema,
} from '#model/service-schema'
import type { Shape, ShapeProperty } from '#model/shape'

/** Writes to properties of a service: how keys name them, and which values they accept. Contract 3.5. */

/**
 * Body of a write: `{"<key>": value}`, with 1 to `propertiesMax` keys. Valid keys and values depend on the device's
 * declaration and the schema; see `parseWriteKey` and `checkWrittenValue`.
 */
export const PropertyWrites = z.record(z.string(), z.unknown()).superRefine((values, context) => {
  const count = Object.keys(values).length
  if (count === 0) context.addIssue({ code: 'custom', message: 'must name a property' })
  if (count > propertiesMax)
    context.addIssue({ code: 'custom', message: `must name at most ${propertiesMax} properties` })
})
export type PropertyWrites = Readonly<z.infer<typeof PropertyWrites>>

/** A property named by a key: by its id, optionally with its expected type (lower case), or by its name. */
export type WriteKey = { readonly propId: number; readonly type?: string } | { readonly name: string }

const idPattern = /^(\d+|0[xX][0-9a-fA-F]{1,8})(?:\.([A-Za-z0-9-]+))?$/

/**
 * Parses a key: digits or `0x…` is an id, either may be followed by `.<TYPE>` in any case, and any other text is a
 * name. This does not depend on the schema: a property named `8192` must be written by its id.
 */
export function parseWriteKey(text: string): WriteKey {
  const [, id, typeName] = idPattern.exec(text) ?? []
  if (id === undefined) return { name: text }
  const propId = Number(id)
  if (typeName === undefined) return { propId }
  const type = propertyTypeOf(typeName)?.name
  return type === undefined ? { name: text } : { propId, type }
}

/**
 * The index of the key's property in a declaration; undefined if there is none, or if the property has another type.
 */
export function placeOf(key: WriteKey, shape: Shape, schema: ServiceSchema | undefined): number | undefined {
  if ('name' in key) {
    const propId = schema && propIdOfName(schema, key.name)
    return propId === undefined ? undefined : shape.indexOf.get(propId)
  }
  const place = shape.indexOf.get(key.propId)
  if (place === undefined || key.type === undefined) return place
  return shape.properties[place]?.type.name === key.type ? place : undefined
}

/** The normal form of a value, or why the value is refused, as the text after the property's name. */
export type CheckedValue = { readonly value: PropertyValue } | { readonly fault: string }

/**
 * Checks whether a property accepts a value: the property must be writable, and the value must have its type and be
 * within the range of the schema. A text that the type itself accepts is that value; any other text is looked up among
 * the names of the enumeration.
 */
export function checkWrittenValue(
  { propId, type, modifier }: ShapeProperty,
  schema: ServiceSchema | undefined,
  value: unknown,
): CheckedValue {
  const about = schema && propertySchemaOf(schema, propId)
  if ((modifier & modifierFlags.isReadOnly) !== 0 || about?.readonly === true) return { fault: 'is read-only' }
  const taken = type.accept(value) ?? (schema && valueNamed(schema, propId, type, value))
  if (taken === undefined) {
    return { fault: `must be ${type.text}${about?.enum ? ', or a name of its enumeration' : ''}` }
  }
  const fault = about && rangeFaultOf(type, about, taken)
  return fault === undefined ? { value: taken } : { fault }
}

/**
 * The value of an enumeration name. The declared type, not the type in the schema, decides whether the value is 1 or
 * true.
 */
function valueNamed(
  schema: ServiceSchema,
  propId: number,
  type: PropertyType,
  name: unknown,
): PropertyValue | undefined {
  const value = typeof name === 'string' ? enumValueOf(schema, propId, name) : undefined
  if (type.name === 'bool' && typeof value === 'number') return type.accept(value !== 0)
  return type.accept(typeof value === 'boolean' && type.name !== 'bool' ? Number(value) : value)
}

/**
 * Why a number, or a number of an array, is out of range; undefined if none is. `rangeMin` is inclusive, `rangeMax`
 * exclusive. Contract 3.9.
 */
function rangeFaultOf(
  type: PropertyType,
  { rangeMin, rangeMax }: PropertySchema,
  value: PropertyValue,
): string | undefined {
  if (rangeMin === undefined && rangeMax === undefined) return undefined
  for (const each of typeof value === 'object' ? value : [value]) {
    const number = numberIn(type, each)
    if (number === undefined) continue
    if (rangeMin !== undefined && number < rangeMin) return `must be at least ${rangeMin}`
    if (rangeMax !== undefined && number >= rangeMax) return `must be below ${rangeMax}`
  }
  return undefined
}

/**
 * 64-bit integers that are not exact JSON numbers come as decimal text; they are compared exactly, not as the nearest
 * double.
 */
function numberIn({ name }: PropertyType, value: number | string | boolean): number | bigint | undefined {
  if (typeof value === 'number') return value
  return typeof value === 'string' && /^u?int64/.test(name) ? BigInt(value) : undefined
}
