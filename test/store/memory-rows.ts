import type { Operation, Row, ScanRange } from '#runtime/storage'

/** Small enough for cheap inserts and copies, large enough for a short list of blocks. */
const blockRowsMax = 256

interface Block {
  readonly owner: object
  /** Sorted keys, in the form of `toOrder`. */
  readonly keys: string[]
  readonly values: Uint8Array[]
}

/** Blocks in key order, none of them empty. Immutable. */
export type FrozenRows = readonly Block[]

/**
 * A sorted map from keys to bytes that can be frozen at no cost: rows are stored in blocks, and a block that a frozen
 * state shares is copied before it is changed.
 */
export class Rows {
  #blocks: Block[]
  #blocksOwner: object
  /** Blocks with this owner belong to no frozen state. */
  #owner: object = {}

  constructor(frozen: FrozenRows = []) {
    this.#blocks = [...frozen]
    this.#blocksOwner = this.#owner
  }

  freeze(): FrozenRows {
    this.#owner = {}
    return this.#blocks
  }

  get(key: string): Uint8Array | undefined {
    const ordered = toOrder(key)
    const block = this.#blocks[blockIndexOf(this.#blocks, ordered)]
    if (!block) return undefined
    const index = lowerBound(block.keys, ordered)
    return block.keys[index] === ordered ? block.values[index] : undefined
  }

  apply(operations: readonly Operation[]): void {
    if (this.#blocksOwner !== this.#owner) this.#blocks = [...this.#blocks]
    this.#blocksOwner = this.#owner
    for (const { key, value } of operations) {
      if (value === null) this.#delete(toOrder(key))
      else this.#put(toOrder(key), value)
    }
  }

  #put(key: string, value: Uint8Array): void {
    const blockIndex = Math.max(0, blockIndexOf(this.#blocks, key))
    const block = this.#ownBlock(blockIndex) ?? this.#addFirstBlock()
    const index = lowerBound(block.keys, key)
    const isThere = block.keys[index] === key
    block.keys.splice(index, isThere ? 1 : 0, key)
    block.values.splice(index, isThere ? 1 : 0, value)
    if (block.keys.length <= blockRowsMax) return
    // Keys in order leave full blocks; others leave half-full ones.
    const isAppended = index === block.keys.length - 1
    const keptCount = isAppended ? blockRowsMax : blockRowsMax / 2
    const next = { owner: this.#owner, keys: block.keys.splice(keptCount), values: block.values.splice(keptCount) }
    this.#blocks.splice(blockIndex + 1, 0, next)
  }

  #delete(key: string): void {
    const blockIndex = blockIndexOf(this.#blocks, key)
    const found = this.#blocks[blockIndex]
    if (!found || found.keys[lowerBound(found.keys, key)] !== key) return
    const block = this.#ownBlock(blockIndex) ?? found
    const index = lowerBound(block.keys, key)
    block.keys.splice(index, 1)
    block.values.splice(index, 1)
    if (block.keys.length === 0) this.#blocks.splice(blockIndex, 1)
  }

  #ownBlock(blockIndex: number): Block | undefined {
    const block = this.#blocks[blockIndex]
    if (!block || block.owner === this.#owner) return block
    const copy = { owner: this.#owner, keys: [...block.keys], values: [...block.values] }
    this.#blocks[blockIndex] = copy
    return copy
  }

  #addFirstBlock(): Block {
    const block = { owner: this.#owner, keys: [], values: [] }
    this.#blocks.push(block)
    return block
  }
}

/** The rows of a range, lazily. */
export function* rowsIn(frozen: FrozenRows, range: ScanRange): Generator<Row, undefined> {
  const after = toOrder(range.after)
  const before = toOrder(range.before)
  const step = range.isReverse ? -1 : 1
  let blockIndex = Math.max(0, blockIndexOf(frozen, range.isReverse ? before : after))
  for (let block = frozen[blockIndex]; block; block = frozen[blockIndex]) {
    const { keys, values } = block
    let index = range.isReverse ? lowerBound(keys, before) - 1 : lowerBound(keys, after)
    if (!range.isReverse && keys[index] === after) index += 1
    for (let key = keys[index]; key !== undefined; key = keys[index]) {
      if (key <= after || key >= before) return undefined
      yield { key: fromOrder(key), value: (range.hasValues ? values[index] : undefined) ?? noBytes }
      index += step
    }
    blockIndex += step
  }
  return undefined
}

const noBytes = new Uint8Array(0)

/** The last block that may hold the key; -1 when all begin after it. */
function blockIndexOf(blocks: FrozenRows, key: string): number {
  let low = 0
  let high = blocks.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((blocks[middle]?.keys[0] ?? '') <= key) low = middle + 1
    else high = middle
  }
  return low - 1
}

/** The first index whose key is not less. */
function lowerBound(keys: readonly string[], key: string): number {
  let low = 0
  let high = keys.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((keys[middle] ?? '') < key) low = middle + 1
    else high = middle
  }
  return low
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
