import { parseJson } from '#http/validation'
import { timestampMsMax } from '#model/identifier'
import { isJsonObject } from '#model/json-value'
import { Problem } from '#model/problem'
import { type PropertyType, propertyTypeOf } from '#model/property-type'
import { schemaNameCharactersMax } from '#model/service-schema'

/** JSON of devices that declare nothing: names with any values. Contract 10. */

/** An object or an array is represented by its JSON text. */
export type FreeValue = boolean | number | string

/** Values with one timestamp. */
export interface FreeValues {
  /** Unix ms. Undefined means now. */
  readonly timestamp: number | undefined
  readonly values: readonly (readonly [name: string, value: FreeValue])[]
}

/** The limit of values in one message. Each value is compared with rules. */
const valuesMax = 2_048
const timesMax = 256

/** An object with any fields. @throws Problem `bad_request` */
export function readJsonObject(payload: Uint8Array): Readonly<Record<string, unknown>> {
  const json = parseJson(payload)
  if (!isJsonObject(json)) throw notValid('an object is needed')
  return json
}

/** Reads `{k: v}`, `{ts, values}`, or a list of both. @throws Problem `bad_request` */
export function telemetryOf(json: unknown): FreeValues[] {
  const list = Array.isArray(json) ? json : [json]
  if (list.length > timesMax) throw notValid(`more than ${timesMax} times`)
  const times = list.map((each) => {
    if (!isJsonObject(each)) throw notValid('values must be in an object')
    const { ts, values } = each
    if (ts === undefined || !isJsonObject(values)) return freeValues(undefined, each)
    if (!Number.isInteger(ts) || Number(ts) < 0 || Number(ts) > timestampMsMax) throw notValid('ts must be Unix ms')
    return freeValues(Number(ts), values)
  })
  return withinLimit(times)
}

/** Reads `{k: v}`. @throws Problem `bad_request` */
export function attributesOf(json: unknown): FreeValues[] {
  if (!isJsonObject(json)) throw notValid('values must be in an object')
  return withinLimit([freeValues(undefined, json)])
}

function withinLimit(times: FreeValues[]): FreeValues[] {
  let count = 0
  for (const { values } of times) count += values.length
  if (count > valuesMax) throw notValid(`more than ${valuesMax} values`)
  return times
}

/** The type of a property whose first value is `value`. */
export function freeTypeOf(value: FreeValue): PropertyType {
  const name = typeof value === 'number' ? 'float64' : typeof value === 'boolean' ? 'bool' : 'string'
  return propertyTypeOf(name) as PropertyType
}

/** A name without a value (null) is left out. */
function freeValues(timestamp: number | undefined, object: Readonly<Record<string, unknown>>): FreeValues {
  const values: [string, FreeValue][] = []
  for (const [name, value] of Object.entries(object)) {
    if (value === null || value === undefined) continue
    if (name === '' || name.length > schemaNameCharactersMax || !name.isWellFormed()) {
      throw notValid(`a name must have 1 to ${schemaNameCharactersMax} characters`)
    }
    values.push([name, typeof value === 'object' ? JSON.stringify(value) : (value as FreeValue)])
  }
  return { timestamp, values }
}

function notValid(why: string): Problem {
  return new Problem('bad_request', `not a valid message: ${why}`)
}
