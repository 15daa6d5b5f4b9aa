/** What was asked of a server that is none. */
export interface Asked {
  readonly method: string
  /** Below the base path of the API. */
  readonly path: string
  readonly headers: Headers
  readonly body: unknown
}

/** A `fetch` that a test answers itself: an Error is a connection that broke, `undefined` one that says nothing for good. */
export class AnsweringFetch {
  readonly asked: Asked[] = []
  readonly #answer: (asked: Asked) => Response | Error | undefined | Promise<Response>

  constructor(answer: (asked: Asked) => Response | Error | undefined | Promise<Response>) {
    this.#answer = answer
  }

  readonly fetch: typeof globalThis.fetch = async (url, init) => {
    const { pathname, search } = new URL(String(url))
    const asked: Asked = {
      method: init?.method ?? 'GET',
      path: pathname.replace('/api/v1', '') + search,
      headers: new Headers(init?.headers),
      body: typeof init?.body === 'string' ? JSON.parse(init.body) : init?.body,
    }
    this.asked.push(asked)
    const answer = await this.#answer(asked)
    if (answer instanceof Error) throw answer
    return answer ?? silence(init?.signal)
  }

  /** How often this was asked. */
  countOf(route: string): number {
    return this.asked.filter(({ method, path }) => `${method} ${path}` === route).length
  }
}

/** An answer in JSON. */
export function json(status: number, body: unknown, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json', ...headers } })
}

/** The token that came with it is no good, or not any more. */
export function tokenRefused(): Response {
  return json(401, { error: 'session over' }, { 'www-authenticate': 'DPoP error="invalid_token"' })
}

function silence(signal: AbortSignal | null | undefined): Promise<Response> {
  return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
}
