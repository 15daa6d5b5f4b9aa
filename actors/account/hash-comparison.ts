import { timingSafeEqual } from 'node:crypto'

/** Compares two hashes in constant time. */
export function isSameHash(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && timingSafeEqual(one, other)
}
