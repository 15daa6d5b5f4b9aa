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

  readonly fetch: typeof globalThis.fetch = async (url, init) => {
    const { pathname, search } = new URL(String(url))
    const asked: Recorded = {
      method: init?.method ?? 'GET',
      path: pathname.replace('/api/v1', '') + search,
      headers: new Headers(init?.headers),
      status: 0,
    }
    this.asked.push(asked)
    const response = await globalThis.fetch(url, init)
    asked.status = response.status
    if (this.loses(asked)) {
      await response.arrayBuffer()
      throw new TypeError('lost')
    }
    return response
  }

  /** How often, and with which outcome, this was asked. */
  statusesOf(route: string): number[] {
    return this.asked.filter(({ method, path }) => `${method} ${path}` === route).map(({ status }) => status)
  }
}
