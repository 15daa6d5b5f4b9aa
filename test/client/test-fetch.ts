export interface TestRequest {
  readonly method: string
  /** The path below the base path of the API. */
  readonly path: string
  readonly headers: Headers
  readonly body: unknown
  /** The status of the answer; 0 before the answer. */
  status: number
}

/** The answer of a test. An error breaks the connection, and `undefined` means no answer. */
type TestAnswer = Response | Error | undefined

/** A `fetch` whose answers the test gives. `forward` sends the request to a real server. */
export class TestFetch {
  readonly requests: TestRequest[] = []
  readonly #answer: (request: TestRequest, forward: () => Promise<Response>) => TestAnswer | Promise<TestAnswer>

  constructor(answer: (request: TestRequest, forward: () => Promise<Response>) => TestAnswer | Promise<TestAnswer>) {
    this.#answer = answer
  }

  readonly fetch: typeof globalThis.fetch = async (url, init) => {
    const { pathname, search } = new URL(String(url))
    const request: TestRequest = {
      method: init?.method ?? 'GET',
      path: pathname.replace('/api/v1', '') + search,
      headers: new Headers(init?.headers),
      body: typeof init?.body === 'string' ? JSON.parse(init.body) : init?.body,
      status: 0,
    }
    this.requests.push(request)
    const answer = await this.#answer(request, () => globalThis.fetch(url, init))
    if (answer instanceof Error) throw answer
    request.status = answer?.status ?? 0
    return answer ?? waitForAbort(init?.signal)
  }

  /** The statuses of all requests of a route. */
  statusesOf(route: string): number[] {
    return this.requests.filter(({ method, path }) => `${method} ${path}` === route).map(({ status }) => status)
  }
}

export function json(status: number, body: unknown, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json', ...headers } })
}

/** The answer to an invalid or expired token. */
export function tokenRefused(): Response {
  return json(401, { error: 'session over' }, { 'www-authenticate': 'DPoP error="invalid_token"' })
}

function waitForAbort(signal: AbortSignal | null | undefined): Promise<Response> {
  return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
}
