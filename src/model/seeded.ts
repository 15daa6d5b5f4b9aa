import { createHash } from 'node:crypto'

/** Of chance, for all that one request may make. */
export const seedBytes = 16

/**
 * Bytes that follow from a seed alone, each call those behind the ones before: who makes ids of them makes the same again
 * when he is asked again, also after a crash. SHA-256 of the seed and a counter, so each as likely as any other.
 *
 * Never for secrets: the seed is stored as it is.
 */
export function seeded(seed: Uint8Array): (byteCount: number) => Uint8Array {
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
