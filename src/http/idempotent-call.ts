import type { BodyStream, Call } from '#http/call'
import type { Caller, Principal } from '#model/caller'
import type { ForwardedRequest } from '#model/forwarded-request'

/** A call with the seed of its `Idempotency-Key`. All other properties are those of the request. */
export class IdempotentCall implements Call {
  readonly seed: Uint8Array
  readonly isRepeated: boolean
  readonly #call: Call

  constructor(call: Call, seed: Uint8Array, isRepeated: boolean) {
    this.#call = call
    this.seed = seed
    this.isRepeated = isRepeated
  }

  get caller(): Caller {
    return this.#call.caller
  }

  get parameters(): unknown {
    return this.#call.parameters
  }

  get query(): unknown {
    return this.#call.query
  }

  get body(): unknown {
    return this.#call.body
  }

  get bodyBytes(): Uint8Array {
    return this.#call.bodyBytes
  }

  get upload(): BodyStream | undefined {
    return this.#call.upload
  }

  header(name: string): string {
    return this.#call.header(name)
  }

  identified(user: Principal): void {
    this.#call.identified(user)
  }

  get target(): Call['target'] {
    return this.#call.target
  }

  get requestId(): string {
    return this.#call.requestId
  }

  get remoteAddress(): string {
    return this.#call.remoteAddress
  }

  get forwarded(): ForwardedRequest {
    return this.#call.forwarded
  }

  get signal(): AbortSignal {
    return this.#call.signal
  }
}
