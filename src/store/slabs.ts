/** The first one: there may be thousands of streams in which little happens. Each is twice the one before. */
const slabBytesMin = 16 * 1024
/** Large enough to be one piece to the allocator, whatever sizes chunks have. */
const slabBytesMax = 1024 * 1024

/**
 * Keeps byte strings that live long and go in the order in which they came, one behind the other in large pieces. Each in
 * a piece of its own, of any size and between others that live shortly, leaves holes to the allocator when they go.
 */
export class Slabs {
  #slab = Buffer.alloc(0)
  #used = 0

  /** A copy; its slab is given back when nothing in it is kept any more. */
  keep(bytes: Uint8Array): Uint8Array {
    if (bytes.byteLength > slabBytesMax / 4) return bytes
    if (this.#used + bytes.byteLength > this.#slab.byteLength) {
      const wanted = Math.max(slabBytesMin, this.#slab.byteLength * 2, bytes.byteLength * 4)
      this.#slab = Buffer.allocUnsafeSlow(Math.min(wanted, slabBytesMax))
      this.#used = 0
    }
    const kept = this.#slab.subarray(this.#used, this.#used + bytes.byteLength)
    kept.set(bytes)
    this.#used += bytes.byteLength
    return kept
  }
}
