import { TestFetch, type TestRequest, tokenRefused } from '#test/client/test-fetch'

/** Sends requests to a real server. A test can expire tokens and lose answers. */
export class RecordedFetch extends TestFetch {
  /** Decides whether an answer is lost after the server has sent it. */
  isLost: (request: TestRequest) => boolean = () => false
  readonly #expired = new Set<string | null>()

  constructor() {
    super(async (request, forward) => {
      const isExpired = this.#expired.has(request.headers.get('authorization'))
      const response = isExpired ? tokenRefused() : await forward()
      request.status = response.status
      if (!this.isLost(request)) return response
      await response.arrayBuffer()
      return new TypeError('lost')
    })
  }

  /** Expires the token of the last request. */
  expireToken(): void {
    this.#expired.add(this.requests.at(-1)?.headers.get('authorization') ?? null)
  }
}
