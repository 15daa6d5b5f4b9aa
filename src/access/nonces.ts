import { createHmac } from 'node:crypto'

/** A nonce is good in its own window and in the next: 5 to 10 minutes. Contract 2, DPoP. */
const nonceWindowMs = 300_000
const nonceBytes = 16

export interface NoncesOptions {
  /** Unix ms. */
  readonly now: () => number
  /** New at each start: what an earlier start said is worth nothing. */
  readonly key: Uint8Array
}

/**
 * What the server wants to see in proofs, so that none can be made long before it is used. RFC 9449 §8.
 *
 * Nothing is kept: a nonce is the window's number under a key. It is no secret (whoever asks gets it), so comparing it
 * need not hide anything.
 */
export class Nonces {
  readonly #options: NoncesOptions
  #window = Number.NaN
  #current = ''
  #previous = ''

  constructor(options: NoncesOptions) {
    this.#options = options
  }

  get current(): string {
    this.#move()
    return this.#current
  }

  /** `ageing`: still good, and time to tell the next one. Undefined: not good. */
  judge(nonce: unknown): 'current' | 'ageing' | undefined {
    this.#move()
    if (nonce === this.#current) return 'current'
    return nonce === this.#previous ? 'ageing' : undefined
  }

  #move(): void {
    const window = Math.floor(this.#options.now() / nonceWindowMs)
    if (window === this.#window) return
    this.#previous = window === this.#window + 1 ? this.#current : this.#of(window - 1)
    this.#current = this.#of(window)
    this.#window = window
  }

  #of(window: number): string {
    const mac = createHmac('sha256', this.#options.key).update(String(window)).digest()
    return mac.subarray(0, nonceBytes).toString('base64url')
  }
}
