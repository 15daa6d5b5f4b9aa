import type { JsonObject, JsonValue } from '#model/json-value'

/** JSON that users type. */

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
