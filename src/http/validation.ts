import { isUtf8 } from 'node:buffer'
import { z } from 'zod'
import { detailsMax, Problem, type ProblemDetail } from '#model/problem'

/** The largest length of `path` and of `message` in a detail. Both contain keys of any length that the caller sent. */
const detailCharactersMax = 256

/** Returns the value as parsed by the schema. Contract 1.3. @throws Problem `invalid`, with paths and messages */
export function validate(schema: z.ZodType, value: unknown): unknown {
  // `safeParse` makes a text for every issue. For a body with 11 000 wrong fields, that takes 30 ms.
  const result = schema._zod.run({ value, issues: [] }, { async: false })
  if (result instanceof Promise) throw new Error('the schema is asynchronous')
  if (result.issues.length === 0) return result.value
  const first = result.issues.slice(0, detailsMax)
  const issues = first.map((issue) => z.core.util.finalizeIssue(issue, { async: false }, z.core.config()))
  throw new Problem('invalid', undefined, { details: detailsOf(issues) })
}

function detailsOf(issues: readonly z.core.$ZodIssue[]): readonly ProblemDetail[] {
  const details: ProblemDetail[] = []
  for (const issue of issues.flatMap(issuesOf)) {
    // An unknown key is reported at its parent; the client needs the key.
    const keys = issue.code === 'unrecognized_keys' ? issue.keys.slice(0, detailsMax) : []
    const paths = keys.length > 0 ? keys.map((key) => [...issue.path, key]) : [issue.path]
    const message = clipped(issue.message)
    for (const path of paths) {
      if (details.length === detailsMax) return details
      details.push({ path: clipped(path.map((key) => clipped(String(key))).join('.')), message })
    }
  }
  return details
}

/** If a body matches none of its possible forms, returns the issues of the form that has the fewest. */
function issuesOf(issue: z.core.$ZodIssue): readonly z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union' || issue.path.length > 0 || issue.errors.length === 0) return [issue]
  return issue.errors.reduce((best, each) => (each.length < best.length ? each : best))
}

function clipped(text: string): string {
  return text.length > detailCharactersMax ? `${text.slice(0, detailCharactersMax - 1).toWellFormed()}…` : text
}

/**
 * The deepest nesting of a body. No valid body is nested this deep. With much deeper bodies, recursive code
 * (validation, merging, storage) would overflow the stack.
 */
const depthMax = 64

/**
 * The most keys in all objects of a body together. The body of `POST /link` needs the most: 4 096 updates of four
 * fields, and the fields around them. Parsing and validating this many different keys takes about 15 ms.
 */
export const keysMax = 16_500
/** The most objects and arrays together: half of `keysMax`, so one for every two keys of the largest body. */
export const containersMax = 8_250
/**
 * The most commas, between elements and between members. Four of the longest property values, arrays of 32 768
 * elements, have this many.
 */
export const commasMax = 131_072
/**
 * The most texts, keys included: `keysMax` keys, and the longest array of texts, which has 21 845 elements.
 * `JSON.parse` spends 0.3 µs on each new short text, ten times as much as on a number.
 */
export const textsMax = 40_000

/** Parses a JSON body; undefined for an empty one. @throws Problem if it is not valid */
export function parseJson(bytes: Uint8Array): unknown {
  if (bytes.byteLength === 0) return undefined
  // Decoding would replace invalid bytes by U+FFFD, and could make two different names equal.
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
 * Refuses a body that would take long to parse: `JSON.parse` takes 0.3 s for 1 MiB of keys. This check takes about 1 ms
 * for 1 MiB. Its counts are wrong for text that is not JSON, which `JSON.parse` refuses afterwards.
 */
function refuseCostly(bytes: Uint8Array): void {
  let [texts, keys, containers, commas, depth] = [0, 0, 0, 0, 0]
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
        if (++commas > commasMax) throw tooMany(`${commasMax} commas`)
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

/** The index of the quote that ends the text at `index`. */
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
 * Refuses a body with the key `__proto__`. `JSON.parse` makes it a plain key, but later code that copies the key
 * (`copy[key] = value`) would set a prototype.
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
