import { createHmac } from 'node:crypto'

/** A nonce is valid in its own window and the next: 5 to 10 minutes. Contract 2, DPoP. */
const nonceWindowMs = 300_000
const nonceBytes = 16

export interface NoncesOptions {
  /** Unix ms. */
  readonly now: () => number
  /** New at each start: nonces of an earlier process are invalid. */
  readonly key: Uint8Array
}

/**
 * The nonces that proofs must contain, so that no proof can be made long before its use. RFC 9449 §8.
 *
 * Stateless: a nonce is the MAC of the window's number. It is not a secret (any client can get one), so it is not
 * compared in constant time.
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

  /** `ageing`: still valid, but the next one should be sent. Undefined: invalid. */
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
