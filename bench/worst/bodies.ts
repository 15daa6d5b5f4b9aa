import type { RouteEntry } from '#api/route-entry'
import { commasMax, containersMax, keysMax, textsMax } from '#http/validation'

/**
 * Hostile bodies of a route: each value of its example is replaced by each of `fillings`, up to the limits of size and
 * counts.
 */

const mebibyte = 1024 * 1024
/** Distance from the limit, because the server counts slightly differently. */
const margin = 512
/** Maximum number of texts, keys and elements of the example around a filled place. */
const aroundMax = 100
const placesDeepMax = 3

/** JSON text of at most `bytes` bytes that fills a place; `here` is the example's value at this place, as JSON. */
const fillings: Readonly<Record<string, (bytes: number, here: string) => string>> = {
  numbers: (bytes) => listed(bytes, () => '0', commasMax),
  'short texts': (bytes) => listed(bytes, (index) => `"\\n€${index.toString(36)}"`, textsMax),
  'empty lists': (bytes) => listed(bytes, () => '[]', containersMax),
  'objects of one key': (bytes) => listed(bytes, (index) => `{"${index.toString(36)}":0}`, containersMax),
  'lists 60 deep': (bytes) => listed(bytes, () => `${'['.repeat(60)}${']'.repeat(60)}`, containersMax / 60),
  'unknown keys': (bytes) => `{${items(bytes, (index) => `"${index.toString(36)}":0`, keysMax)}}`,
  'a text of escapes': (bytes) => `"${'\\u0001'.repeat(bytes / 6 - 1)}"`,
  'a text of braces': (bytes) => `"${'{{a'.repeat(bytes / 3 - 1)}"`,
  'its own elements': (bytes, here) => {
    const value: unknown = JSON.parse(here)
    const first = Array.isArray(value) ? JSON.stringify(value[0]) : here
    return first === undefined ? '' : listed(bytes, () => first, textsMax)
  },
}

function listed(bytes: number, item: (index: number) => string, countMax: number): string {
  return `[${items(bytes, item, countMax)}]`
}

function items(bytes: number, item: (index: number) => string, countMax: number): string {
  const parts: string[] = []
  for (let index = 0, length = 2; index < countMax - aroundMax; index++) {
    const part = item(index)
    length += Buffer.byteLength(part) + 1
    if (length > bytes) break
    parts.push(part)
  }
  return parts.join(',')
}

export interface HostileBody {
  readonly form: string
  readonly text: string
}

export function* bodiesOf({ body, example }: RouteEntry): Generator<HostileBody> {
  const bytesMax = Math.min(body?.bytesMax ?? mebibyte, mebibyte) - margin
  for (const place of placesIn(example.body)) {
    const around = textWith(example.body, place, '').length
    const here = JSON.stringify(place.reduce(valueAt, example.body)) ?? 'null'
    for (const [filling, fill] of Object.entries(fillings)) {
      const filled = fill(bytesMax - around, here)
      if (filled === '') continue
      yield { form: `${filling} at ${place.join('.') || 'the top'}`, text: textWith(example.body, place, filled) }
    }
  }
}

export function pathOf({ path, example }: RouteEntry): string {
  return path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(example.parameters?.[name] ?? 'x'))
}

type Place = readonly string[]

function* placesIn(value: unknown, place: Place = []): Generator<Place> {
  yield place
  if (place.length === placesDeepMax || typeof value !== 'object' || value === null) return
  const keys = Array.isArray(value) ? Object.keys(value).slice(0, 1) : Object.keys(value)
  for (const key of keys) yield* placesIn(valueAt(value, key), [...place, key])
}

function valueAt(value: unknown, key: string): unknown {
  return (value as Readonly<Record<string, unknown>>)[key]
}

/** JSON text of `value` with `filled` at `place`. */
function textWith(value: unknown, place: Place, filled: string): string {
  const mark = '\u0000here\u0000'
  const copy = structuredClone({ value })
  const path = ['value', ...place]
  const parent = path.slice(0, -1).reduce(valueAt, copy as unknown)
  ;(parent as Record<string, unknown>)[path.at(-1) as string] = mark
  return JSON.stringify(copy.value).replace(JSON.stringify(mark), () => filled)
}
