import { isPropertyError, type PropertyState } from '#model/entry'
import type { JsonValue } from '#model/json-value'

/**
 * Heap size of values. Measured with Node 20 on 64 bits: the difference of `process.memoryUsage().heapUsed` before and
 * after creating many equal values, divided by their number (`test/actors/value-memory.slow.test.ts` repeats the
 * measurement).
 */

/** The header of a string, with padding. 1 000 ASCII characters took 1 037 bytes, 1 000 Chinese characters 2 018. */
const textBytes = 24
/** An array object and the header of its elements. An element is a pointer or a number of 8 bytes. */
const arrayBytes = 48
const elementBytes = 8
/**
 * A number that is not a 32-bit integer may be an object: whether V8 unboxes the elements of an array depends on the
 * code that ran before.
 */
const boxedNumberBytes = 16
/** Space for four fields, as created by `JSON.parse`. */
const objectBytes = 56
/** An entry of an object with many keys, without the text of the key. */
const fieldBytes = 32

/** A text with one of these characters takes two bytes per character, any other text one. */
const wideCharacter = /[^\0-\xff]/

/** Size of a value or an error. Numbers and booleans use no extra bytes: their place in the service is counted. */
export function memoryOf(state: PropertyState): number {
  if (typeof state === 'string') return memoryOfText(state)
  if (typeof state !== 'object' || state === null) return 0
  return isPropertyError(state) ? objectBytes + memoryOfText(state.error) : memoryOfArray(state)
}

function memoryOfArray(elements: readonly (number | string | boolean)[]): number {
  let bytes = arrayBytes + elements.length * elementBytes
  for (const element of elements) {
    if (typeof element === 'string') bytes += memoryOfText(element)
    else if (typeof element === 'number' && element >> 0 !== element) bytes += boxedNumberBytes
  }
  return bytes
}

/** Size of metadata or desired values. Metadata is at most 64 KiB as JSON and uses up to 1.4 MB. */
export function jsonMemoryOf(value: JsonValue): number {
  if (typeof value === 'string') return memoryOfText(value)
  if (typeof value === 'number') return boxedNumberBytes
  if (typeof value !== 'object' || value === null) return 0
  let bytes = 0
  if (Array.isArray(value)) {
    for (const element of value as readonly JsonValue[]) bytes += elementBytes + jsonMemoryOf(element)
    return arrayBytes + bytes
  }
  for (const [key, field] of Object.entries(value)) bytes += fieldBytes + memoryOfText(key) + jsonMemoryOf(field)
  return objectBytes + bytes
}

function memoryOfText(text: string): number {
  return textBytes + (wideCharacter.test(text) ? 2 : 1) * text.length
}
