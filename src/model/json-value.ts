import { z } from 'zod'
import { detailsMax } from '#model/problem'
import { utf8BytesOf } from '#model/text'

/** JSON that users store and that the API returns unchanged. `jsonWithin` refuses what could harm API clients. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject
export type JsonObject = { readonly [key: string]: JsonValue }

/** A fault of a value: the path in the value, outermost key first, and the reason. */
export interface JsonFault {
  readonly path: readonly (string | number)[]
  readonly message: string
}

/** Keys that change a prototype in careless code of API clients. Contract 3.10. */
const keysRefused: ReadonlySet<string> = new Set(['__proto__', 'constructor'])

/**
 * A schema that validates only fault-free JSON of at most `bytesMax` bytes. The check runs before zod, because zod's
 * objects and records silently drop `__proto__`.
 */
export function jsonWithin<S extends z.ZodType>(schema: S, limits: { depthMax: number; bytesMax: number }) {
  return z.preprocess((value, context) => {
    const fault = jsonFaultOf(value, limits.depthMax) ?? sizeFaultOf(value, limits.bytesMax)
    if (!fault) return value
    context.addIssue({ code: 'custom', path: [...fault.path], message: fault.message })
    return z.NEVER
  }, schema)
}

/** Applies the schema only to objects of at most `entriesMax` keys: each invalid entry would cost some microseconds. */
export function entriesWithin<S extends z.ZodType>(schema: S, entriesMax: number) {
  return z.preprocess((value, context) => {
    if (!isJsonObject(value) || Object.keys(value).length <= entriesMax) return value
    context.addIssue({ code: 'custom', message: `must have at most ${entriesMax} entries` })
    return z.NEVER
  }, schema)
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Bytes of the value as JSON text in UTF-8. The value must have no fault: a value that is too deep would overflow the
 * stack.
 */
export function jsonBytesOf(value: JsonValue): number {
  return utf8BytesOf(JSON.stringify(value))
}

/**
 * The first fault, or undefined: objects and arrays nested deeper than `depthMax` (the outermost is 1), refused keys,
 * text that is not well-formed Unicode, and values that are not JSON. Never recurses below the deepest level that is
 * allowed.
 */
function jsonFaultOf(value: unknown, depthMax: number): JsonFault | undefined {
  switch (typeof value) {
    case 'boolean':
      return undefined
    case 'number':
      return Number.isFinite(value) ? undefined : faultOf('must be finite')
    case 'string':
      return value.isWellFormed() ? undefined : faultOf('must be well-formed Unicode')
    case 'object':
      break
    default:
      return faultOf('must be JSON')
  }
  if (value === null) return undefined
  if (depthMax < 1) return faultOf('is nested too deep')
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const fault = jsonFaultOf(value[index], depthMax - 1)
      if (fault) return { ...fault, path: [index, ...fault.path] }
    }
    return undefined
  }
  for (const key of Object.keys(value)) {
    if (keysRefused.has(key)) return faultOf(`must not have the key ${key}`)
    if (!key.isWellFormed()) return faultOf('must have keys of well-formed Unicode')
    const fault = jsonFaultOf((value as Readonly<Record<string, unknown>>)[key], depthMax - 1)
    if (fault) return { ...fault, path: [key, ...fault.path] }
  }
  return undefined
}

function faultOf(message: string): JsonFault {
  return { path: [], message }
}

function sizeFaultOf(value: unknown, bytesMax: number): JsonFault | undefined {
  if (value === undefined || jsonBytesOf(value as JsonValue) <= bytesMax) return undefined
  return { path: [], message: `must be at most ${bytesMax} bytes as JSON` }
}

const FaultBoundedArray = z.core.$constructor('FaultBoundedArray', (array: z.ZodArray, def: z.core.$ZodArrayDef) => {
  z.ZodArray.init(array, def)
  const parse = array._zod.parse
  array._zod.parse = (payload, context) => {
    const list = payload.value
    if (!Array.isArray(list)) return parse(payload, context)
    const items = new Array<unknown>(list.length)
    payload.value = items
    for (let index = 0; index < list.length && payload.issues.length < detailsMax; index++) {
      const item = def.element._zod.run({ value: list[index], issues: [] }, context)
      if (item instanceof Promise) throw new Error('the schema of the elements must be synchronous')
      payload.issues.push(...z.core.util.prefixIssues(index, item.issues))
      items[index] = item.value
    }
    return payload
  }
})

/**
 * Like `z.array`, but stops at as many faults as an error lists. Each fault costs some microseconds, so thousands of
 * invalid elements would block the event loop for longer than thousands of valid ones. The elements after the last
 * fault are missing then: a later check of the array also ends at `detailsMax` issues, before it reads the missing
 * elements.
 */
export function faultBoundedArray<Item extends z.ZodType>(item: Item): z.ZodArray<Item> {
  return new FaultBoundedArray({ type: 'array', element: item }) as unknown as z.ZodArray<Item>
}
