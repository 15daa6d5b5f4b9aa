import { hash } from 'node:crypto'
import { type Fingerprint, FingerprintSet } from '#access/fingerprint-set'
import type { Random } from '#access/random'
import { Problem } from '#model/problem'

/**
 * Three generations of this, so a proof is remembered for 122 to 183 s. It has to be for 121: a proof is taken from 60 s
 * before its `iat` until 60 s after it, and `iat` counts whole seconds.
 */
export const generationMs = 61_000
const generationCount = 3

/** In one generation: 12 000 proofs a second, more than one process can check. 16 bytes each. */
const entriesMaxByDefault = 3 * 2 ** 18

export interface ReplaysOptions {
  /** Unix ms. */
  readonly now: () => number
  readonly random: Random
  /** In one generation. */
  readonly entriesMax?: number
}

/**
 * Which proofs were used: of each key, the `jti` it gave. Nothing is forgotten early; when a generation is full, no
 * more proofs are taken until the next one begins. RFC 9449 §11.1, contract 2.
 */
export class Replays {
  readonly #options: ReplaysOptions
  readonly #entriesMax: number
  /**
   * Of this process alone: whoever could tell where an entry goes could choose `jti`s that all go to one place, and make
   * every look a long one.
   */
  readonly #secret: string
  #generation = Number.NEGATIVE_INFINITY
  /** The youngest first. */
  #sets: FingerprintSet[] = []
  /** `record` follows `isUsed` at once, and needs the same fingerprint. */
  #latest: { readonly jkt: string; readonly jti: string; readonly fingerprint: Fingerprint } | undefined

  constructor(options: ReplaysOptions) {
    this.#options = options
    this.#entriesMax = options.entriesMax ?? entriesMaxByDefault
    this.#secret = Buffer.from(options.random(16)).toString('hex')
  }

  isUsed(jkt: string, jti: string): boolean {
    this.#move()
    const fingerprint = this.#fingerprintOf(jkt, jti)
    return this.#sets.some((set) => set.has(fingerprint))
  }

  /** Using it once more changes nothing. @throws Problem `overloaded` when the generation is full. */
  record(jkt: string, jti: string): void {
    this.#move()
    const [youngest] = this.#sets
    if (!youngest || youngest.size >= this.#entriesMax) {
      const seconds = Math.ceil(((this.#generation + 1) * generationMs - this.#options.now()) / 1000)
      throw new Problem('overloaded', undefined, { headers: { 'Retry-After': String(Math.max(seconds, 1)) } })
    }
    youngest.add(this.#fingerprintOf(jkt, jti))
  }

  /** Forwards only: a clock that is put back must not bring forgotten proofs back to life any sooner. */
  #move(): void {
    const generation = Math.floor(this.#options.now() / generationMs)
    if (generation <= this.#generation) return
    const passed = Math.min(generation - this.#generation, generationCount)
    for (let count = 0; count < passed; count++) {
      const expected = count === 0 ? (this.#sets[0]?.size ?? 0) : 0
      this.#sets = [new FingerprintSet(expected), ...this.#sets].slice(0, generationCount)
    }
    this.#generation = generation
  }

  #fingerprintOf(jkt: string, jti: string): Fingerprint {
    if (this.#latest?.jti !== jti || this.#latest.jkt !== jkt) {
      this.#latest = { jkt, jti, fingerprint: this.#newFingerprint(jkt, jti) }
    }
    return this.#latest.fingerprint
  }

  #newFingerprint(jkt: string, jti: string): Fingerprint {
    // A thumbprint has no dot, so no two pairs are one text.
    const bytes = hash('sha256', `${this.#secret}${jkt}.${jti}`, 'buffer')
    return Uint32Array.of(bytes.readUInt32LE(0), bytes.readUInt32LE(4), bytes.readUInt32LE(8), bytes.readUInt32LE(12))
  }
}
