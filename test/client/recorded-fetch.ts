import { tokenRefused } from '#test/client/answering-fetch'

export interface Recorded {
  readonly method: string
  /** Below the base path of the API. */
  readonly path: string
  readonly headers: Headers
  status: number
}

/** The platform's `fetch`, with a record of what it was asked, and losses that a test decides on. */
export class RecordedFetch {
  readonly asked: Recorded[] = []
  /** Whether the answer gets lost, after the server has given it. */
  loses: (asked: Recorded) => boolean = () => false
  /** What came with requests and is refused from now on. */
  readonly #ended = new Set<string | null>()

  readonly fetch: typeof globalThis.fetch = async (url, init) => {
    const { pathname, search } = new URL(String(url))
    const asked: Recorded = {
      method: init?.method ?? 'GET',
      path: pathname.replace('/api/v1', '') + search,
      headers: new Headers(init?.headers),
      status: 0,
    }
    this.asked.push(asked)
    const isEnded = this.#ended.has(asked.headers.get('authorization'))
    const response = isEnded ? tokenRefused() : await globalThis.fetch(url, init)
    asked.status = response.status
    if (this.loses(asked)) {
      await response.arrayBuffer()
      throw new TypeError('lost')
    }
    return response
  }

  /** The token that was shown last has come to its end, sooner than it says. */
  endToken(): void {
    this.#ended.add(this.asked.at(-1)?.headers.get('authorization') ?? null)
  }

  /** How often, and with which outcome, this was asked. */
  statusesOf(route: string): number[] {
    return this.asked.filter(({ method, path }) => `${method} ${path}` === route).map(({ status }) => status)
  }
}
