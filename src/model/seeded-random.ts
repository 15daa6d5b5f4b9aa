import { createHash } from 'node:crypto'

/** The length of a seed. All ids that one request makes are derived from one seed. */
export const seedBytes = 16

/**
 * Bytes derived from a seed alone; each call returns the next ones. Code that makes ids from them makes the same ids
 * again when it repeats, even after a crash. The bytes are SHA-256 of the seed and a counter, so all values are equally
 * likely.
 *
 * Never for secrets: the seed is stored in clear.
 */
export function seededRandom(seed: Uint8Array): (byteCount: number) => Uint8Array {
  let count = 0
  return (byteCount) => {
    const bytes = new Uint8Array(byteCount)
    for (let filled = 0; filled < byteCount; ) {
      const counter = Buffer.alloc(4)
      counter.writeUInt32BE(count++)
      const block = createHash('sha256').update(seed).update(counter).digest()
      bytes.set(block.subarray(0, byteCount - filled), filled)
      filled += block.byteLength
    }
    return bytes
  }
}
