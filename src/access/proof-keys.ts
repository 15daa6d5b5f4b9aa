import type { CryptoKey } from 'jose'
import { RecentMap } from '#access/recent-map'

/** The parsed header of a proof: it names one key, and no other header text has the same. */
export interface ProofKey {
  readonly jkt: string
  readonly key: CryptoKey
}

/** In one generation: each active client saves an import of 130 µs. A key takes some 7 KB. */
const keysMax = 8_192
/** Headers of real clients have 230 to 400 characters; longer ones are accepted, but parsed each time. */
const headerCharactersMax = 1_024
/** An unused key is evicted after one to two of these. */
export const keyGenerationMs = 5 * 60_000

export interface ProofKeysOptions {
  /** Unix ms. */
  readonly now: () => number
  readonly sizeMax?: number
}

/**
 * Keys by the exact proof header: a client's header never changes, so its decoding, its thumbprint and the import of
 * its key are paid for once while the client is active. Only headers of fully valid proofs are cached.
 */
export class ProofKeys {
  readonly #now: () => number
  readonly #keys: RecentMap<string, ProofKey>

  constructor({ now, sizeMax = keysMax }: ProofKeysOptions) {
    this.#now = now
    this.#keys = new RecentMap({ generationMs: keyGenerationMs, sizeMax })
  }

  find(headerText: string): ProofKey | undefined {
    return this.#keys.get(headerText, this.#now())
  }

  admit(headerText: string, { jkt, key }: ProofKey): void {
    if (headerText.length > headerCharactersMax || this.find(headerText)) return
    this.#keys.set(headerText, { jkt, key }, this.#now())
  }
}
