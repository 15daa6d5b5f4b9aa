import type { LoadedServer } from '#bench/harness/under-load'
import { count, type Ends } from '#bench/proof/overload/ends'
import { askAlone } from '#bench/proof/overload/lone-request'

const everyMs = 200
const timeoutMs = 60_000

/** Somebody who asks for a device now and then, on a connection of his own each time: none of it may stay unanswered. */
export class Asker {
  readonly #place: LoadedServer
  readonly #bytes: Buffer
  readonly #ends: Ends = {}
  readonly #open = new Set<Promise<void>>()
  readonly #timer: NodeJS.Timeout

  /** `path`: of what is there. */
  constructor(place: LoadedServer, path: string) {
    const { port, authorizations } = place
    const person = authorizations ? `Authorization: ${authorizations.person}\r\n` : ''
    this.#place = place
    this.#bytes = Buffer.from(`GET /api/v1${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${person}\r\n`)
    this.#timer = setInterval(() => this.#ask(), everyMs)
  }

  /** Waits for what is still open; answers how all of it ended. */
  async stop(): Promise<Ends> {
    clearInterval(this.#timer)
    await Promise.all(this.#open)
    return this.#ends
  }

  #ask(): void {
    const asked = askAlone({ port: this.#place.port, bytes: this.#bytes, timeoutMs }).then(({ end }) => {
      count(this.#ends, end)
      this.#open.delete(asked)
    })
    this.#open.add(asked)
  }
}
