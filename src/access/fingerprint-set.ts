/** 128 bits of a hash, as four words. */
export type Fingerprint = Uint32Array

const words = 4
const firstSlots = 1024
/** Of a table's slots, at most so many are taken: beyond it looking past the taken ones gets long. */
const loadMax = 0.75

/**
 * A set of fingerprints that only grows, 16 bytes for each place and nothing on the heap.
 *
 * A full table is not copied into a larger one, which would hold up everything else for milliseconds, but is joined by
 * one of twice its size: looking goes through all of them, a dozen at most.
 */
export class FingerprintSet {
  readonly #tables: Uint32Array[]
  #size = 0
  #sizeOfLast = 0

  /** `expected`: so many are likely, so the first table holds them. */
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

  /** One that is there already stays once. */
  add(fingerprint: Fingerprint): void {
    if (this.has(fingerprint)) return
    const marked = mark(fingerprint)
    const table = this.#roomiest()
    table.set(marked, slotOf(table, marked))
    this.#size++
    this.#sizeOfLast++
  }

  #roomiest(): Uint32Array {
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

/** A first word of zero means an empty place; the one in 2³² that begins so is given another. */
function mark(fingerprint: Fingerprint): Fingerprint {
  if (fingerprint[0] === 0) fingerprint[0] = 1
  return fingerprint
}

/** Where it stands in the table, or the empty place where it would: the index of its first word. */
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
