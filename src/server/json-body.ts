import { isUtf8 } from 'node:buffer'
import { Problem } from '#model/problem'

/**
 * Nobody's body is nested this deep, and recursion over one that is (validating, merging, storing) would run out of
 * stack.
 */
const depthMax = 64

/** The value in a JSON body; undefined for an empty one. A Problem says why there is none. */
export function parseJson(bytes: Uint8Array): unknown {
  if (bytes.byteLength === 0) return undefined
  // Not replaced by U+FFFD but refused: two different names must not become the same one.
  if (!isUtf8(bytes)) throw new Problem('bad_request', 'the body is not UTF-8')
  let value: unknown
  try {
    value = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString())
  } catch {
    throw new Problem('bad_request', 'the body is not JSON')
  }
  refuseDangerous(value, 0)
  return value
}

/**
 * `JSON.parse` makes `__proto__` a plain key, but the first assignment of it in code behind (`copy[key] = value`) sets a
 * prototype. Refused here, so that nobody behind has to think of it.
 */
function refuseDangerous(value: unknown, depth: number): void {
  if (typeof value !== 'object' || value === null) return
  if (depth === depthMax) throw new Problem('bad_request', `the body is nested deeper than ${depthMax}`)
  if (Array.isArray(value)) {
    for (const item of value) refuseDangerous(item, depth + 1)
    return
  }
  if (Object.hasOwn(value, '__proto__')) throw new Problem('bad_request', 'the body has a key __proto__')
  for (const item of Object.values(value)) refuseDangerous(item, depth + 1)
}
