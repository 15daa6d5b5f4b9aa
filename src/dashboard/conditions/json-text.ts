import type { JsonObject, JsonValue } from '#model/json-value'

/** JSON that users type, and the merge patch of a change. */

export function readJson(text: string): { readonly value: JsonValue } | { readonly fault: string } {
  if (text.trim() === '') return { fault: 'Enter a JSON value' }
  try {
    return { value: JSON.parse(text) as JsonValue }
  } catch (error) {
    return { fault: `Invalid JSON: ${(error as SyntaxError).message}` }
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

/**
 * The merge patch that turns one JSON object into another; undefined if they are equal. RFC 7396; it cannot set `null`.
 */
export function mergePatchOf(before: JsonObject, after: JsonObject): JsonObject | undefined {
  const patch = new Map<string, JsonValue>()
  for (const key of Object.keys(before)) if (!Object.hasOwn(after, key)) patch.set(key, null)
  for (const [key, value] of Object.entries(after)) {
    const old = Object.hasOwn(before, key) ? before[key] : undefined
    if (isObject(old) && isObject(value)) {
      const inner = mergePatchOf(old, value)
      if (inner) patch.set(key, inner)
    } else if (JSON.stringify(old) !== JSON.stringify(value)) patch.set(key, value)
  }
  return patch.size === 0 ? undefined : Object.fromEntries(patch)
}

/** Whether the value contains `null` outside of lists: a patch would remove that key. */
export function containsNull(value: JsonValue): boolean {
  return value === null || (isObject(value) && Object.values(value).some(containsNull))
}
