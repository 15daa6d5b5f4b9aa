import { z } from 'zod'
import { HistoryRetention } from '#model/history-retention'
import { formatPropertyIdHex, parsePropertyKey } from '#model/identifier'
import { entriesWithin, jsonWithin } from '#model/json-value'
import { getOrInsert } from '#model/map-values'
import { type PropertyValue, propertyTypes } from '#model/property-type'

/**
 * The schema of a service, written by users: names, units, enumerations, ranges. A schema describes raw values, which
 * are stored without it. Devices need not follow the schema; only writes of users are checked against it. Unknown
 * fields are kept unchanged. §2.4, contract 3.8, 3.9.
 */

/** As many properties as one service of a device can have, contract 3.11. */
export const schemaPropertiesMax = 1_024

/** The widest known enumeration is a byte, with 256 values; this is four times as many. */
export const enumEntriesMax = 1_024

/** The limit for a text of one line. */
export const schemaNameCharactersMax = 256

/** The limit for a text of a page: it is sent with every list of schemas. */
export const schemaTextCharactersMax = 4_096

/** Levels of nested values in unknown fields: enough for settings of a user interface, and safe to recurse into. */
export const schemaDepthMax = 16

/**
 * Half of BODY_BYTES_MAX, contract 1.3: enough for a line of text for every property. The limit is needed because one
 * event contains the whole schema.
 */
export const schemaBytesMax = 524_288

/** Types that only schemas may name: no property value has them. Contract 3.8. */
const streamTypes = ['binary-stream', 'string-stream']

const name = z.string().min(1).max(schemaNameCharactersMax)
const line = z.string().max(schemaNameCharactersMax)
const text = z.string().max(schemaTextCharactersMax)

const EnumEntry = z.looseObject({ name, description: text.optional() })

/** `rangeMin` is inclusive, `rangeMax` exclusive, both in `unit`. Enumerations are keyed by decimal value. */
export const PropertySchema = z
  .looseObject({
    name,
    description: text.optional(),
    type: z
      .string()
      .toLowerCase()
      .refine((type) => propertyTypes.has(type) || streamTypes.includes(type), 'must be a data type such as uint8')
      .optional(),
    enum: keyedBy(decimalOf, EnumEntry, enumEntriesMax, 'a number').optional(),
    unit: line.optional(),
    readonly: z.boolean().optional(),
    rangeMin: z.number().optional(),
    rangeMax: z.number().optional(),
    actionable: z.boolean().optional(),
    history: HistoryRetention.optional(),
    group: line.optional(),
    hint: text.optional(),
  })
  .refine(({ rangeMin, rangeMax }) => rangeMin === undefined || rangeMax === undefined || rangeMin < rangeMax, {
    path: ['rangeMax'],
    message: 'must be above rangeMin, because rangeMax is exclusive',
  })
export type PropertySchema = z.infer<typeof PropertySchema>

const known = z.looseObject({
  name,
  description: text.optional(),
  properties: keyedBy(hexOf, PropertySchema, schemaPropertiesMax, 'a property id such as 0x2000').superRefine(
    checkNames,
  ),
})

/**
 * Properties are keyed by `0x` and hex digits; the result is keyed by canonical hex (`0x2000`). Two keys of one id are
 * refused, and so are two properties with one name.
 */
export const ServiceSchema = jsonWithin(known, { depthMax: schemaDepthMax, bytesMax: schemaBytesMax })
export type ServiceSchema = z.infer<typeof known>

export function nameOfProperty(schema: ServiceSchema, propId: number): string | undefined {
  return propertySchemaOf(schema, propId)?.name
}

export function propertySchemaOf(schema: ServiceSchema, propId: number): PropertySchema | undefined {
  return schema.properties[formatPropertyIdHex(propId)]
}

/** The id of the property of exactly this name. */
export function propIdOfName(schema: ServiceSchema, name: string): number | undefined {
  return propIdsOf(schema).get(name)
}

/** The enumeration name of this value; `true` and `false` are looked up as 1 and 0. */
export function enumNameOf(schema: ServiceSchema, propId: number, value: PropertyValue): string | undefined {
  if (typeof value === 'object') return undefined
  const entries = propertySchemaOf(schema, propId)?.enum
  const key = String(typeof value === 'boolean' ? Number(value) : value)
  return entries && Object.hasOwn(entries, key) ? entries[key]?.name : undefined
}

/** The value with this enumeration name; the first value if two share it. The inverse of `enumNameOf`. */
export function enumValueOf(schema: ServiceSchema, propId: number, name: string): PropertyValue | undefined {
  const property = propertySchemaOf(schema, propId)
  const [key] = Object.entries(property?.enum ?? {}).find(([, entry]) => entry.name === name) ?? []
  if (key === undefined) return undefined
  if (property?.type === 'bool') return key !== '0'
  // Whole numbers beyond 2⁵³ are texts, except those of floats.
  const isText = !property?.type?.startsWith('float') && !Number.isSafeInteger(Number(key)) && /^-?\d+$/.test(key)
  return isText ? key : Number(key)
}

/** A schema with the same checks of values, but without names, for callers who may not read it. */
export function withoutNames(schema: ServiceSchema): ServiceSchema {
  const properties = Object.entries(schema.properties).map(([key, { enum: _, ...property }]) => [
    key,
    { ...property, name: key },
  ])
  return { ...schema, properties: Object.fromEntries(properties) }
}

/** Schemas are never changed in place, so cached results stay valid. */
const propIdsCache = new WeakMap<ServiceSchema, ReadonlyMap<string, number>>()

function propIdsOf(schema: ServiceSchema): ReadonlyMap<string, number> {
  return getOrInsert(
    propIdsCache,
    schema,
    () => new Map(Object.entries(schema.properties).map(([key, { name }]) => [name, Number(key)])),
  )
}

function checkNames(properties: Readonly<Record<string, { readonly name: string }>>, context: z.RefinementCtx): void {
  const keys = new Map<string, string>()
  for (const [key, { name }] of Object.entries(properties)) {
    const other = keys.get(name)
    if (other) context.addIssue({ code: 'custom', path: [key, 'name'], message: `is already the name of ${other}` })
    keys.set(name, key)
  }
}

/**
 * A record whose keys are converted to their canonical form (`formOf`). The record is refused if a key has no such
 * form, or if two keys have the same form.
 */
function keyedBy<S extends z.ZodType>(
  formOf: (key: string) => string | undefined,
  value: S,
  entriesMax: number,
  what: string,
) {
  const record = z
    .record(z.string(), value)
    .superRefine((record, context) => {
      const keys = new Map<string, string>()
      for (const key of Object.keys(record)) {
        const form = formOf(key)
        const other = form === undefined ? undefined : keys.get(form)
        if (form === undefined) context.addIssue({ code: 'custom', path: [key], message: `must be keyed by ${what}` })
        else if (other) context.addIssue({ code: 'custom', path: [key], message: `means the same as ${other}` })
        else keys.set(form, key)
      }
    })
    .overwrite((record) =>
      Object.fromEntries(Object.entries(record).map(([key, value]) => [formOf(key) ?? key, value])),
    )
  return entriesWithin(record, entriesMax)
}

function hexOf(key: string): string | undefined {
  const id = key.startsWith('0x') ? parsePropertyKey(key) : undefined
  return id === undefined ? undefined : formatPropertyIdHex(id)
}

/**
 * The decimal form of an integer with up to 20 digits, of `0x` and hex digits, or of any number as JavaScript writes
 * it; undefined for any other text.
 */
function decimalOf(key: string): string | undefined {
  if (/^0[xX]/.test(key)) return parsePropertyKey(key)?.toString()
  if (/^(?:0|-?[1-9][0-9]{0,19})$/.test(key)) return key
  return Number.isFinite(Number(key)) && String(Number(key)) === key ? key : undefined
}
