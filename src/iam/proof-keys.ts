import type { KeyObject } from 'node:crypto'
import { BoundedMap } from '#iam/bounded-map'

/** What a proof's header comes to: it names one key, and no other header text needs to be read for it. */
export interface ProofKey {
  readonly jkt: string
  readonly key: KeyObject
}

/** In one generation: as many clients at once keep their import of 75 µs. A key takes some 4 KB. */
const keysMax = 16_384
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
  readonly #sizeMax: number
  #young: BoundedMap<string, ProofKey>
  #old: BoundedMap<string, ProofKey>
  #youngSince: number

  constructor({ now, sizeMax = keysMax }: ProofKeysOptions) {
    this.#now = now
    this.#sizeMax = sizeMax
    this.#young = new BoundedMap(sizeMax)
    this.#old = new BoundedMap(sizeMax)
    this.#youngSince = now()
  }

  find(headerText: string): ProofKey | undefined {
    this.#move()
    const young = this.#young.get(headerText)
    if (young) return young
    const old = this.#old.get(headerText)
    if (old) this.#young.set(headerText, old)
    return old
  }

  admit(headerText: string, { jkt, key }: ProofKey): void {
    if (headerText.length > headerCharactersMax || this.find(headerText)) return
    this.#young.set(headerText, { jkt, key })
  }

  /** Also for a clock that was put back. */
  #move(): void {
    const now = this.#now()
    const age = Math.abs(now - this.#youngSince)
    if (age < keyGenerationMs) return
    this.#old = age < 2 * keyGenerationMs ? this.#young : new BoundedMap(this.#sizeMax)
    this.#young = new BoundedMap(this.#sizeMax)
    this.#youngSince = now
  }
}
