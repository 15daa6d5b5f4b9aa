import { timingSafeEqual } from 'node:crypto'

/** Whether two hashes are one, in a time that does not tell how much of them is. */
export function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && timingSafeEqual(one, other)
}
