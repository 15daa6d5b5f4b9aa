import type { KeyObject } from 'node:crypto'
import { BoundedMap } from '#iam/bounded-map'

/** What a proof's header comes to: it names one key, and no other header text needs to be read for it. */
export interface ProofKey {
  readonly jkt: string
  readonly key: KeyObject
}

/** As many clients at once keep their import of 75 µs. */
const keysMax = 16_384
/** Headers of real clients have 230 to 400 characters; longer ones may come, and are read anew each time. */
const headerCharactersMax = 1_024

/**
 * Keys by the proof header that brought them, word for word: a client's header never changes, so decoding it, its
 * thumbprint and the import of its key are paid once. Only headers of proofs that were good in everything come in.
 */
export class ProofKeys {
  readonly #keys: BoundedMap<string, ProofKey>

  constructor(sizeMax = keysMax) {
    this.#keys = new BoundedMap(sizeMax)
  }

  find(headerText: string): ProofKey | undefined {
    return this.#keys.get(headerText)
  }

  admit(headerText: string, { jkt, key }: ProofKey): void {
    if (headerText.length > headerCharactersMax || this.#keys.get(headerText)) return
    this.#keys.set(headerText, { jkt, key })
  }
}
