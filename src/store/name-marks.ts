import { textHash } from '#store/msgpack-reader'

/**
 * 1 MiB, and one bit a name: more fits no cache near the processor, and marking four million names took a second. Of a
 * million names one in nine others is taken for one of them.
 */
const bitsLog2 = 23

/**
 * Which names were seen, by their hashes alone, so that any number of them takes the same room: a name that was seen is
 * always known, and one that was not is taken for one at times.
 */
export class NameMarks {
  readonly #words = new Uint32Array(2 ** (bitsLog2 - 5))
  /** How many names were seen: of those seen late some are taken for one of the others. */
  count = 0

  readonly add = (hash: number): void => {
    const bit = bitOf(hash)
    if (this.#isMarked(bit)) return
    this.#words[bit >>> 5] = (this.#words[bit >>> 5] as number) | (1 << (bit & 31))
    this.count++
  }

  /** The name that this text holds from a place on. */
  has(text: string, from: number): boolean {
    return this.#isMarked(bitOf(textHash(text, from)))
  }

  #isMarked(bit: number): boolean {
    return (((this.#words[bit >>> 5] as number) >>> (bit & 31)) & 1) === 1
  }
}

/** Names differ at their ends, which alone do not change all bits of their hashes. */
function bitOf(hash: number): number {
  return Math.imul(hash ^ (hash >>> 16), 0x85ebca6b) >>> (32 - bitsLog2)
}
