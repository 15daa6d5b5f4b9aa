import type { HttpRequest } from 'uWebSockets.js'

/**
 * A request's headers, copied while the request is valid: uWebSockets.js keeps it on the stack.
 *
 * Every line is stored, also repeated ones: the framing check needs each copy, and a repeated header reads as all
 * values joined by a comma (RFC 9110 §5.3), so that a repeated credential is invalid instead of silently being one.
 */
export class RequestHeaders {
  /** Names (lower case) and values, alternating: one array is cheaper than a map for the dozen lines of a request. */
  readonly #lines: readonly string[]

  constructor(lines: readonly string[]) {
    this.#lines = lines
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
