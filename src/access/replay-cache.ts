import { hash } from 'node:crypto'
import type { Random } from '#access/file-keys'
import { Problem } from '#model/problem'

/**
 * Three generations are kept, so a proof is remembered for 122 to 183 s. 121 s are required: a proof is accepted from
 * 60 s before its `iat` until 60 s after it, and `iat` counts whole seconds.
 */
export const generationMs = 61_000
const generationCount = 3

/** The most proofs in one generation: 12 000 a second, more than one process can check. Each takes 16 bytes. */
const entriesMaxByDefault = 3 * 2 ** 18

export interface ReplayCacheOptions {
  /** Unix ms. */
  readonly now: () => number
  readonly random: Random
  /** The most proofs in one generation. */
  readonly entriesMax?: number
}

/**
 * Used proofs: the `jti`s of each key. No proof is forgotten early. When a generation is full, no proofs are accepted
 * until the next generation begins. RFC 9449 §11.1, contract 2.
 */
export class ReplayCache {
  readonly #options: ReplayCacheOptions
  readonly #entriesMax: number
  /**
   * Random for each process: a client that could predict the slot of an entry could choose `jti`s that all share one
   * slot, and make every lookup slow.
   */
  readonly #secret: string
  #generation = Number.NEGATIVE_INFINITY
  /** One set for each generation, the youngest first. */
  #sets: FingerprintSet[] = []
  /** The last fingerprint: `record` follows `isUsed` at once, and needs the same fingerprint. */
  #latest: { readonly jkt: string; readonly jti: string; readonly fingerprint: Fingerprint } | undefined

  constructor(options: ReplayCacheOptions) {
    this.#options = options
    this.#entriesMax = options.entriesMax ?? entriesMaxByDefault
    this.#secret = Buffer.from(options.random(16)).toString('hex')
  }

  isUsed(jkt: string, jti: string): boolean {
    this.#move()
    const fingerprint = this.#fingerprintOf(jkt, jti)
    return this.#sets.some((set) => set.has(fingerprint))
  }

  /** Idempotent. @throws Problem `overloaded` when the generation is full */
  record(jkt: string, jti: string): void {
    this.#move()
    const [youngest] = this.#sets
    if (!youngest || youngest.size >= this.#entriesMax) {
      const seconds = Math.ceil(((this.#generation + 1) * generationMs - this.#options.now()) / 1000)
      throw new Problem('overloaded', undefined, { headers: { 'Retry-After': String(Math.max(seconds, 1)) } })
    }
    youngest.add(this.#fingerprintOf(jkt, jti))
  }

  /** Generations only move forwards: a clock that is set back must not make used proofs valid again. */
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
    // A thumbprint contains no dot, so no two pairs share a text.
    const bytes = hash('sha256', `${this.#secret}${jkt}.${jti}`, 'buffer')
    return Uint32Array.of(bytes.readUInt32LE(0), bytes.readUInt32LE(4), bytes.readUInt32LE(8), bytes.readUInt32LE(12))
  }
}

/** 128 bits of a hash, as four words. */
type Fingerprint = Uint32Array

const words = 4
const firstSlots = 1024
/** The largest share of used slots in a table: above it, finding a slot gets slow. */
const loadMax = 0.75

/**
 * A set of fingerprints that only grows. Each slot takes 16 bytes, outside the heap of V8.
 *
 * A full table is not copied into a larger one, which would block the loop for milliseconds. A table of twice the
 * size is added; a lookup searches all of them, a dozen at most.
 */
export class FingerprintSet {
  readonly #tables: Uint32Array[]
  #size = 0
  #sizeOfLast = 0

  /** `expected`: the likely number of entries, for the size of the first table. */
  constructor(expected = 0) {
    this.#tables = [tableFor(expected)]
  }

  get size(): number {
    return this.#size
  }

  has(fingerprint: Fingerprint): boolean {
    const marked = mark(fingerprint)
    return this.#tables.some((table) => table[slotOf(table, marked)] !== 0)
  }

  /** Idempotent. */
  add(fingerprint: Fingerprint): void {
    if (this.has(fingerprint)) return
    const marked = mark(fingerprint)
    const table = this.#tableWithRoom()
    table.set(marked, slotOf(table, marked))
    this.#size++
    this.#sizeOfLast++
  }

  #tableWithRoom(): Uint32Array {
    const last = this.#tables.at(-1) as Uint32Array
    const slots = last.length / words
    if (this.#sizeOfLast < slots * loadMax) return last
    const next = new Uint32Array(slots * 2 * words)
    this.#tables.push(next)
    this.#sizeOfLast = 0
    return next
  }
}

function tableFor(expected: number): Uint32Array {
  let slots = firstSlots
  while (slots * loadMax < expected) slots *= 2
  return new Uint32Array(slots * words)
}

/**
 * A first word of zero marks an empty slot, so the one fingerprint in 2³² that begins with zero gets another first
 * word.
 */
function mark(fingerprint: Fingerprint): Fingerprint {
  if (fingerprint[0] === 0) fingerprint[0] = 1
  return fingerprint
}

/** The index of the slot that has the fingerprint, or of the empty slot for it. */
function slotOf(table: Uint32Array, fingerprint: Fingerprint): number {
  const mask = table.length - 1
  let index = ((fingerprint[1] ?? 0) * words) & mask
  while (table[index] !== 0 && !isAt(table, index, fingerprint)) index = (index + words) & mask
  return index
}

function isAt(table: Uint32Array, index: number, fingerprint: Fingerprint): boolean {
  return (
    table[index] === fingerprint[0] &&
    table[index + 1] === fingerprint[1] &&
    table[index + 2] === fingerprint[2] &&
    table[index + 3] === fingerprint[3]
  )
}
