import { z } from 'zod'
import type { Method } from '#api/entry'
import { Misuse, Refusal } from '#cli/ending'
import { type Answer, exchange, exchangeLong, NoAnswer } from '#cli/exchange'
import { refusalOf, refusing } from '#cli/refused'

/** What of a route's entry is needed to call it. */
export interface Callable {
  readonly method: Method
  /** Parameters as `:name`. */
  readonly path: string
}

export interface Asked {
  readonly parameters?: Readonly<Record<string, string>>
  /** Without those that are undefined. */
  readonly query?: Readonly<Record<string, string | undefined>>
  readonly body?: unknown
}

/** Answers without a body. */
export const nothing = z.undefined()

/** Things as they are shown, whatever is known of them. */
export const Entry = z.record(z.string(), z.unknown())
export type Entry = z.infer<typeof Entry>
export const Entries = z.array(Entry)

/** Calls routes by their entries, always as the same somebody. */
export class ApiClient {
  readonly #base: string
  readonly #headers: Readonly<Record<string, string>>

  /** @param base with the base path of the API, without a slash at the end. */
  constructor(base: string, headers: Readonly<Record<string, string>>) {
    this.#base = base
    this.#headers = headers
  }

  /**
   * @throws Refusal unless it succeeded and the answer is what it should be
   * @throws Misuse for a parameter that can't stand in a path
   */
  async call<T>(entry: Callable, { parameters = {}, query = {}, body }: Asked, answer: z.ZodType<T>): Promise<T> {
    const url = this.#base + pathOf(entry.path, parameters) + queryOf(query)
    const got = await refusing(url, () => exchange(url, { method: entry.method, headers: this.#headers, body }))
    if (got.status < 200 || got.status > 299) throw refusalOf(got)
    const read = answer.safeParse(bodyOf(got))
    if (!read.success) throw new Refusal(`${entry.method} ${url}: ${got.status} with an unexpected answer`)
    return read.data
  }

  /**
   * An answer of bytes, to be read to its end, or returned.
   * @throws Refusal unless it succeeded, also while it is read
   */
  async bytes(entry: Callable): Promise<AsyncIterable<Uint8Array>> {
    const url = this.#base + entry.path
    const answer = await refusing(url, () => exchangeLong(url, { method: entry.method, headers: this.#headers }))
    if ('refused' in answer) throw refusalOf(answer.refused)
    return refusingPieces(url, answer.pieces)
  }
}

async function* refusingPieces(url: string, pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* pieces
  } catch (error) {
    throw error instanceof NoAnswer ? new Refusal(`${url}: the answer broke off: ${error.message}`) : error
  }
}

/** Dots alone would lead to another path than the one meant (RFC 3986 §5.2.4), however they are escaped. */
function pathOf(template: string, parameters: Readonly<Record<string, string>>): string {
  return template.replace(/:(\w+)/g, (_, name: string) => {
    const value = parameters[name] ?? ''
    if (/^\.{0,2}$/.test(value)) throw new Misuse(`'${value}' names nothing`)
    return encodeURIComponent(value)
  })
}

function queryOf(query: NonNullable<Asked['query']>): string {
  const fields = Object.entries(query).filter((field): field is [string, string] => field[1] !== undefined)
  return fields.length === 0 ? '' : `?${new URLSearchParams(fields)}`
}

function bodyOf({ text }: Answer): unknown {
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
