import type { CryptoKey } from 'jose'
import { RecentMap } from '#access/recent-map'

/** What a proof's header comes to: it names one key, and no other header text needs to be read for it. */
export interface ProofKey {
  readonly jkt: string
  readonly key: CryptoKey
}

/** In one generation: as many clients at once save an import of 130 µs. A key takes some 7 KB. */
const keysMax = 8_192
/** Headers of real clients have 230 to 400 characters; longer ones may come, and are read anew each time. */
const headerCharactersMax = 1_024
/** A key that nobody comes with is forgotten after one to two of these. */
export const keyGenerationMs = 5 * 60_000

export interface ProofKeysOptions {
  /** Unix ms. */
  readonly now: () => number
  readonly sizeMax?: number
}

/**
 * Keys by the proof header that brought them, word for word: a client's header never changes, so decoding it, its
 * thumbprint and the import of its key are paid once while it goes on. Only headers of proofs that were good in everything
 * come in.
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
