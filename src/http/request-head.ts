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
