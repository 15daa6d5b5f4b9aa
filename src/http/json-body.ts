import { isUtf8 } from 'node:buffer'
import { Problem } from '#model/problem'

/**
 * Nobody's body is nested this deep, and recursion over one that is (validating, merging, storing) would run out of
 * stack.
 */
const depthMax = 64

/**
 * In all objects of a body together: 4 096 updates of four fields in `POST /link`, and the fields around them. Parsing and
 * validating that many different keys takes about 15 ms.
 */
export const keysMax = 16_500
/** Objects and arrays together: two keys in each on average. */
export const containersMax = 8_250
/** Commas: four arrays of the longest property values, of 32 768 elements each. */
export const elementsMax = 131_072
/**
 * Texts, keys among them: the keys above and the longest array of texts, of 21 845. `JSON.parse` spends 0.3 µs on a short text
 * that it has not seen yet, ten times as much as on a number.
 */
export const textsMax = 40_000

/** The value in a JSON body; undefined for an empty one. A Problem says why there is none. */
export function parseJson(bytes: Uint8Array): unknown {
  if (bytes.byteLength === 0) return undefined
  // Not replaced by U+FFFD but refused: two different names must not become the same one.
  if (!isUtf8(bytes)) throw new Problem('bad_request', 'the body is not UTF-8')
  refuseCostly(bytes)
  let value: unknown
  try {
    value = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString())
  } catch {
    throw new Problem('bad_request', 'the body is not JSON')
  }
  refuseDangerous(value)
  return value
}

/**
 * Refuses a body that would take long to parse, before it is parsed: `JSON.parse` alone takes 0.3 s for 1 MiB of keys. Linear, about
 * 1 ms for 1 MiB. Counts are wrong for text that is not JSON, which is refused anyway.
 */
function refuseCostly(bytes: Uint8Array): void {
  let [texts, keys, containers, elements, depth] = [0, 0, 0, 0, 0]
  for (let index = 0; index < bytes.length; index++) {
    switch (bytes[index]) {
      case 0x22: // "
        if (++texts > textsMax) throw tooMany(`${textsMax} texts`)
        index = endOfText(bytes, index)
        break
      case 0x3a: // :
        if (++keys > keysMax) throw tooMany(`${keysMax} keys`)
        break
      case 0x2c: // ,
        if (++elements > elementsMax) throw tooMany(`${elementsMax} elements`)
        break
      case 0x5b: // [
      case 0x7b: // {
        if (++containers > containersMax) throw tooMany(`${containersMax} objects and arrays`)
        if (++depth > depthMax) throw new Problem('bad_request', `the body is nested deeper than ${depthMax}`)
        break
      case 0x5d: // ]
      case 0x7d: // }
        depth--
    }
  }
}

/** Where the quote is that ends the text which begins at `index`. */
function endOfText(bytes: Uint8Array, index: number): number {
  for (let end = index + 1; end < bytes.length; end++) {
    if (bytes[end] === 0x22) return end
    if (bytes[end] === 0x5c) end++ // \
  }
  return bytes.length
}

function tooMany(limit: string): Problem {
  return new Problem('bad_request', `the body has more than ${limit}`)
}

/**
 * `JSON.parse` makes `__proto__` a plain key, but the first assignment of it in code behind (`copy[key] = value`) sets a
 * prototype. Refused here, so that nobody behind has to think of it.
 */
function refuseDangerous(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) {
    for (const item of value) refuseDangerous(item)
    return
  }
  if (Object.hasOwn(value, '__proto__')) throw new Problem('bad_request', 'the body has a key __proto__')
  for (const key in value) refuseDangerous((value as Record<string, unknown>)[key])
}
