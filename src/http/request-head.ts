import type { HttpRequest } from 'uWebSockets.js'
import type { World } from '#runtime/world'

/**
 * A request's headers, copied because uWebSockets.js keeps the request on the stack.
 *
 * Every line is stored, also repeated ones. The framing check counts them. A repeated header reads as all values joined
 * by a comma (RFC 9110 §5.3), so that a repeated credential is invalid, and none of its copies is used.
 */
export class RequestHeaders {
  /** Names (lower case) and values, alternating: one array is cheaper than a map for the dozen lines of a request. */
  readonly #lines: readonly string[]

  constructor(lines: readonly string[]) {
    this.#lines = lines
  }

  /** Names and values, alternating, without the headers whose names match the pattern. */
  linesWithout(pattern: RegExp): readonly string[] {
    return this.#lines.filter((_, index) => !pattern.test(this.#lines[index - (index % 2)] ?? ''))
  }

  get(name: string): string {
    let value: string | undefined
    for (let index = 0; index < this.#lines.length; index += 2) {
      if (this.#lines[index] !== name) continue
      const line = this.#lines[index + 1] ?? ''
      value = value === undefined ? line : `${value}, ${line}`
    }
    return value ?? ''
  }

  count(name: string): number {
    let count = 0
    for (let index = 0; index < this.#lines.length; index += 2) if (this.#lines[index] === name) count++
    return count
  }
}

export function readHeaders(request: HttpRequest): RequestHeaders {
  const lines: string[] = []
  request.forEach((name, value) => {
    lines.push(name, value)
  })
  return new RequestHeaders(lines)
}

/** The declared length of a body: a number of bytes, or chunked. */
export type BodyLength = number | 'chunked'

/**
 * Finds the end of a request, or the fault in its framing. If a proxy reads ambiguous framing differently from this
 * server, one client can write into the connection of another (request smuggling, RFC 9112 §11.2). So ambiguous
 * requests are refused and the connection is closed. The parser underneath accepts several of them.
 */
export function readFraming(headers: RequestHeaders): { readonly bodyLength: BodyLength } | { readonly fault: string } {
  if (headers.count('host') !== 1 || headers.get('host') === '') return { fault: 'one Host header is needed' }
  const lengths = headers.count('content-length')
  const encodings = headers.count('transfer-encoding')
  if (lengths === 0 && encodings === 0) return noBody
  if (lengths > 0 && encodings > 0) return { fault: 'both Content-Length and Transfer-Encoding' }
  if (encodings > 0) {
    if (headers.get('transfer-encoding') === 'chunked') return chunkedBody
    return { fault: 'Transfer-Encoding is not chunked' }
  }
  const length = headers.get('content-length')
  if (lengths > 1 || !/^\d{1,15}$/.test(length)) return { fault: 'Content-Length is not one number' }
  return { bodyLength: Number(length) }
}

const noBody = { bodyLength: 0 } as const
const chunkedBody = { bodyLength: 'chunked' } as const

/**
 * Whether a `Content-Type` is one of the given types. Parameters are allowed, but a charset must be UTF-8: all bodies
 * are read as UTF-8.
 */
export function isContentType(header: string, wanted: readonly string[]): boolean {
  const [type = '', ...parameters] = header.toLowerCase().split(';')
  if (!wanted.includes(type.trim())) return false
  return parameters.every((parameter) => {
    const [name = '', value = ''] = parameter.split('=')
    return name.trim() !== 'charset' || /^"?utf-?8"?$/.test(value.trim())
  })
}

/**
 * Whether a body is parsed as JSON: `application/json`, `application/merge-patch+json`. Other bodies are passed on as
 * bytes.
 */
export function isJsonType(header: string): boolean {
  const type = (header.split(';')[0] ?? '').trim().toLowerCase()
  return type === 'application/json' || type.endsWith('+json')
}

const noFields: Readonly<Record<string, string | string[]>> = Object.freeze(Object.create(null))

/**
 * Query fields, each a string, or an array of strings when repeated. No prototype, because clients choose the names.
 */
export function parseQuery(query: string): Readonly<Record<string, string | string[]>> {
  if (query === '') return noFields
  const fields: Record<string, string | string[]> = Object.create(null)
  for (const [name, value] of new URLSearchParams(query)) {
    const before = fields[name]
    if (before === undefined) fields[name] = value
    else if (typeof before === 'string') fields[name] = [before, value]
    else before.push(value)
  }
  return fields
}

/** A client's own request id is accepted only in this form, because it is written into headers and log lines. */
const echoable = /^[A-Za-z0-9._-]{1,64}$/

/**
 * Makes a function that returns the client's own request id if it is valid, otherwise a new id: a random prefix of this
 * process, and a number. A request id has to be unique, but may be guessed.
 */
export function requestIds(world: World): (asked: string) => string {
  const prefix = Buffer.from(world.random(6)).toString('base64url')
  let count = 0
  return (asked) => {
    if (asked !== '' && echoable.test(asked)) return asked
    count++
    return `${prefix}.${count.toString(36)}`
  }
}

/**
 * Finds the row for a method and a path, in a tree of path segments. Pure.
 *
 * - A static segment wins over a parameter, in any order of the rows. A parameter takes one non-empty segment.
 * - Segments are compared as sent, undecoded. Parameters are percent-decoded. If a parameter cannot be decoded, the
 *   path is unknown.
 * - For a path that is known for other methods, the result is `allow`, the content of the `Allow` header. It has HEAD
 *   for each GET, and always OPTIONS.
 */
export interface PathTable<T> {
  match(method: string, path: string): PathMatch<T> | { readonly allow: readonly string[] } | undefined
}

export interface PathMatch<T> {
  readonly binding: T
  readonly rawParameters: Readonly<Record<string, string>>
  /** The methods of this path. */
  readonly allow: readonly string[]
}

export interface PathRow<T> {
  readonly method: string
  /** For example `/devices/:deviceIdentifier`. */
  readonly template: string
  readonly binding: T
}

interface PathNode<T> {
  readonly statics: Map<string, PathNode<T>>
  parameter: PathNode<T> | undefined
  readonly targets: Map<string, Target<T>>
  allow: readonly string[]
}

interface Target<T> {
  readonly binding: T
  readonly names: readonly string[]
}

/** Throws if two rows have the same method and path: the later row would never be reached. */
export function pathTable<T>(rows: readonly PathRow<T>[]): PathTable<T> {
  const root = newNode<T>()
  for (const row of rows) add(root, row)

  return {
    match(method, path) {
      const values: string[] = []
      const place = find(root, path.split('/'), 1, values)
      if (!place || !decodeAll(values)) return undefined
      const target = place.targets.get(method === 'HEAD' ? 'GET' : method)
      if (!target) return { allow: place.allow }
      return { binding: target.binding, rawParameters: named(target.names, values), allow: place.allow }
    },
  }
}

const noParameters: Readonly<Record<string, string>> = Object.freeze({})

function newNode<T>(): PathNode<T> {
  return { statics: new Map(), parameter: undefined, targets: new Map(), allow: [] }
}

function add<T>(root: PathNode<T>, row: PathRow<T>): void {
  const segments = row.template.split('/')
  if (segments[0] !== '' || segments.length < 2) throw new Error(`a path starts with a slash: ${row.template}`)
  const names: string[] = []
  let place = root
  for (const segment of segments.slice(1)) {
    if (segment.startsWith(':')) {
      names.push(segment.slice(1))
      place.parameter ??= newNode()
      place = place.parameter
    } else {
      const next: PathNode<T> = place.statics.get(segment) ?? newNode()
      place.statics.set(segment, next)
      place = next
    }
  }
  if (place.targets.has(row.method)) throw new Error(`two routes for ${row.method} ${row.template}`)
  place.targets.set(row.method, { binding: row.binding, names })
  place.allow = allowOf([...place.targets.keys()])
}

function allowOf(methods: readonly string[]): readonly string[] {
  return [...methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])), 'OPTIONS']
}

/** Tries the parameter if the static branch has no match, as for `/updates/projects/log` with `/updates/:id/log`. */
function find<T>(
  place: PathNode<T>,
  segments: readonly string[],
  index: number,
  values: string[],
): PathNode<T> | undefined {
  const segment = segments[index]
  if (segment === undefined) return place.targets.size > 0 ? place : undefined
  const next = place.statics.get(segment)
  const found = next && find(next, segments, index + 1, values)
  if (found || !place.parameter || segment === '') return found
  values.push(segment)
  const below = find(place.parameter, segments, index + 1, values)
  if (!below) values.pop()
  return below
}

/** Decodes the values in place. Returns false if a value is malformed. */
function decodeAll(values: string[]): boolean {
  for (const [index, value] of values.entries()) {
    if (!value.includes('%')) continue
    try {
      values[index] = decodeURIComponent(value)
    } catch {
      return false
    }
  }
  return true
}

function named(names: readonly string[], values: readonly string[]): Readonly<Record<string, string>> {
  if (names.length === 0) return noParameters
  const parameters: Record<string, string> = {}
  for (const [index, name] of names.entries()) parameters[name] = values[index] ?? ''
  return parameters
}
