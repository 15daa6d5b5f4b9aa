import { partitionPoint } from '#model/partition-point'
import type { Operation, Row, ScanRange } from '#runtime/storage'

/** Keys in order, in the form of `toOrder`, with their values at the same indexes. */
export interface FrozenRows {
  readonly keys: readonly string[]
  readonly values: readonly Uint8Array[]
}

/** A sorted map from keys to bytes that can be frozen at no cost: the first change after that copies the arrays. */
export class Rows {
  #rows: { readonly keys: string[]; readonly values: Uint8Array[] }
  #isShared = false

  constructor({ keys, values }: FrozenRows = { keys: [], values: [] }) {
    this.#rows = { keys: [...keys], values: [...values] }
  }

  freeze(): FrozenRows {
    this.#isShared = true
    return this.#rows
  }

  get(key: string): Uint8Array | undefined {
    const { keys, values } = this.#rows
    const ordered = toOrder(key)
    const index = lowerBound(keys, ordered)
    return keys[index] === ordered ? values[index] : undefined
  }

  apply(operations: readonly Operation[]): void {
    if (this.#isShared) this.#rows = { keys: [...this.#rows.keys], values: [...this.#rows.values] }
    this.#isShared = false
    const { keys, values } = this.#rows
    for (const { key, value } of operations) {
      const ordered = toOrder(key)
      const index = lowerBound(keys, ordered)
      const oldCount = keys[index] === ordered ? 1 : 0
      keys.splice(index, oldCount, ...(value ? [ordered] : []))
      values.splice(index, oldCount, ...(value ? [value] : []))
    }
  }
}

/** The rows of a range, lazily. */
export function* rowsIn({ keys, values }: FrozenRows, range: ScanRange): Generator<Row, undefined> {
  const after = toOrder(range.after)
  const before = toOrder(range.before)
  let index = range.isReverse ? lowerBound(keys, before) - 1 : lowerBound(keys, after)
  if (!range.isReverse && keys[index] === after) index += 1
  for (let key = keys[index]; key !== undefined && key > after && key < before; key = keys[index]) {
    yield { key: fromOrder(key), value: (range.hasValues ? values[index] : undefined) ?? noBytes }
    index += range.isReverse ? -1 : 1
  }
  return undefined
}

const noBytes = new Uint8Array(0)

/** The first index whose key is not less. */
function lowerBound(keys: readonly string[], key: string): number {
  return partitionPoint(keys.length, (index) => (keys[index] ?? '') < key)
}

/**
 * A form of the key whose order in UTF-16, which JavaScript compares, equals the order of the key's UTF-8 bytes. The two
 * orders differ in one point: surrogates (characters beyond U+FFFF) come before U+E000 to U+FFFF in UTF-16 and after them
 * in UTF-8, so those two ranges swap places. As in UTF-8, lone surrogates become U+FFFD.
 */
function toOrder(key: string): string {
  if (!/[\ud800-\uffff]/.test(key)) return key
  return key
    .toWellFormed()
    .replace(/[\ud800-\uffff]/g, (unit) => moved(unit, unit < '\ue000' ? surrogatesUp : -othersDown))
}

function fromOrder(ordered: string): string {
  if (!/[\ud800-\uffff]/.test(ordered)) return ordered
  return ordered.replace(/[\ud800-\uffff]/g, (unit) => moved(unit, unit < '\uf800' ? othersDown : -surrogatesUp))
}

/** U+D800–DFFF to U+F800–FFFF, and U+E000–FFFF to U+D800–F7FF. */
const surrogatesUp = 0x2000
const othersDown = 0x800

function moved(unit: string, by: number): string {
  return String.fromCharCode(unit.charCodeAt(0) + by)
}
