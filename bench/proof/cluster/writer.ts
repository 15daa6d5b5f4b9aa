import { askApi, authorizationHeader } from '#bench/harness/identity'
import type { HttpAnswer } from '#bench/http'
import { sleep, until } from '#bench/time'

const prefix = 'WRITTEN'
const silenceMsMax = 40_000
/** A cluster that accepts no write for this long will not recover. */
const writeMsMax = 120_000

/**
 * A repeated request is answered 409: the answer to the first request has a secret, so it is not stored under the key.
 * Contract 1.10.
 */
function isCreated({ status, text }: HttpAnswer): boolean {
  return status === 201 || (status === 409 && text.includes('the device exists'))
}

/**
 * Creates devices one after the other through the balancer, each with an `Idempotency-Key`. A request is sent again
 * after a broken connection, as a client would, and after a refusal, which is recorded.
 */
export class Writer {
  readonly #port: number
  readonly #person: string
  /** Answers that refused a creation; a client with an `Idempotency-Key` must get none. */
  readonly refusals: string[] = []
  /** The longest time that a creation took since `reset`, with all attempts. */
  longestMs = 0
  created = 0
  #isStopped = false
  #writing: Promise<void> = Promise.resolve()

  constructor(port: number, person: string) {
    this.#port = port
    this.#person = person
  }

  start(): void {
    this.#isStopped = false
    this.#writing = this.#write()
    // Thrown by `stop`.
    this.#writing.catch(() => {})
  }

  /** @throws Error if no write was accepted any more */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#writing
  }

  reset(): void {
    this.longestMs = 0
    this.refusals.length = 0
  }

  owns(identifier: unknown): boolean {
    return String(identifier).startsWith(`${prefix}-`)
  }

  /** The devices that should exist. */
  get identifiers(): readonly string[] {
    return Array.from({ length: this.created }, (_, number) => `${prefix}-${number}`)
  }

  /** Creates a device; resolves with the milliseconds until it was accepted. `port`: of a node. @throws Error */
  async one(port = this.#port): Promise<number> {
    const startedAt = performance.now()
    const identifier = `${prefix}-${this.created}`
    let last = ''
    const isAccepted = async () => {
      const sentAt = performance.now()
      const answer = await askApi(port, '/devices', {
        method: 'POST',
        body: JSON.stringify({ deviceIdentifier: identifier }),
        headers: { ...authorizationHeader(this.#person), 'idempotency-key': identifier },
        silenceMsMax,
      }).catch(() => undefined)
      if (answer && isCreated(answer)) return true
      if (answer) this.refusals.push(`${answer.status} after ${Math.round(performance.now() - sentAt)} ms`)
      last = answer ? `${answer.status} ${answer.text.slice(0, 200)}` : 'no answer'
      return false
    }
    if (!(await until(isAccepted, writeMsMax, 20)))
      throw new Error(`${identifier} was not created within ${writeMsMax / 1000} s: ${last}`)
    this.created++
    const ms = performance.now() - startedAt
    this.longestMs = Math.max(this.longestMs, ms)
    return ms
  }

  async #write(): Promise<void> {
    while (!this.#isStopped) {
      await this.one()
      await sleep(5)
    }
  }
}
