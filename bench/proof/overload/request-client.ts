import type { ServerTarget } from '#bench/harness/server-target'
import { count, type EndCounts } from '#bench/proof/overload/end-counts'
import { sendSingleRequest } from '#bench/proof/overload/single-request'

const everyMs = 200
const timeoutMs = 60_000

/** Requests a resource regularly, each time on a new connection. Every request must be answered. */
export class RequestClient {
  readonly #place: ServerTarget
  readonly #bytes: Buffer
  readonly #ends: EndCounts = {}
  readonly #open = new Set<Promise<void>>()
  readonly #timer: NodeJS.Timeout

  /** `path`: of an existing resource. */
  constructor(place: ServerTarget, path: string) {
    const { port, authorizations } = place
    const person = authorizations ? `Authorization: ${authorizations.person}\r\n` : ''
    this.#place = place
    this.#bytes = Buffer.from(`GET /api/v1${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${person}\r\n`)
    this.#timer = setInterval(() => this.#ask(), everyMs)
  }

  /** Waits for open requests; resolves with how all requests ended. */
  async stop(): Promise<EndCounts> {
    clearInterval(this.#timer)
    await Promise.all(this.#open)
    return this.#ends
  }

  #ask(): void {
    const asked = sendSingleRequest({ port: this.#place.port, bytes: this.#bytes, timeoutMs }).then(({ end }) => {
      count(this.#ends, end)
      this.#open.delete(asked)
    })
    this.#open.add(asked)
  }
}
