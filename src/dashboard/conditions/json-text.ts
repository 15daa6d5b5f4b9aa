import type { JsonObject, JsonValue } from '#model/json-value'

/** JSON that people type. */

/** What it says, or what is wrong with it in words. */
export function readJson(text: string): { readonly value: JsonValue } | { readonly fault: string } {
  if (text.trim() === '') return { fault: 'Write some JSON' }
  try {
    return { value: JSON.parse(text) as JsonValue }
  } catch (error) {
    return { fault: `This is no JSON: ${(error as SyntaxError).message}` }
  }
}

/** As people read it. */
export function writeJson(value: JsonValue): string {
  const whole = JSON.stringify(value)
  return whole.length <= 60 ? whole : JSON.stringify(value, null, 2)
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
