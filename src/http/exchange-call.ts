import type { BegunRequest, BodyStream, Call } from '#http/call'
import type { Exchange } from '#http/exchange'
import type { Caller, Principal } from '#model/caller'
import type { ForwardedRequest } from '#model/forwarded-request'
import { seedBytes } from '#model/identifier'

/**
 * The call of a handler. It is a class and not a literal, because values that most handlers never use (signal, address,
 * seed) are only made on first use.
 */
export class ExchangeCall implements Call {
  readonly caller: Caller
  readonly parameters: unknown
  readonly query: unknown
  readonly body: unknown
  readonly bodyBytes: Uint8Array
  readonly upload: BodyStream | undefined
  readonly #exchange: Exchange
  #seed: Uint8Array | undefined
  #isRepeated = false

  constructor(
    exchange: Exchange,
    caller: Caller,
    input: Pick<Call, 'parameters' | 'query' | 'body' | 'bodyBytes' | 'upload'>,
  ) {
    this.#exchange = exchange
    this.caller = caller
    this.parameters = input.parameters
    this.query = input.query
    this.body = input.body
    this.bodyBytes = input.bodyBytes
    this.upload = input.upload
  }

  header(name: string): string {
    return this.#exchange.header(name)
  }

  identified(user: Principal): void {
    this.#exchange.audit?.identified(user)
  }

  get target(): Call['target'] {
    return this.#exchange
  }

  get requestId(): string {
    return this.#exchange.requestId
  }

  get remoteAddress(): string {
    return this.#exchange.remoteAddress
  }

  get forwarded(): ForwardedRequest {
    return this.#exchange.forwarded
  }

  get signal(): AbortSignal {
    return this.#exchange.signal
  }

  get isRepeated(): boolean {
    return this.#isRepeated
  }

  get seed(): Uint8Array {
    this.#seed ??= this.#exchange.context.world.random(seedBytes)
    return this.#seed
  }

  /** Continues a request that is stored under its `Idempotency-Key`. */
  continue({ seed, isRepeated }: BegunRequest): void {
    this.#seed = seed
    this.#isRepeated = isRepeated
  }
}
