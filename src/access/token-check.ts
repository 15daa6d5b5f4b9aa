import { timingSafeEqual } from 'node:crypto'
import { hashOf } from '#access/secret-text'

/**
 * Whether what is shown is this token, which somebody chose and of which only the hash is kept. In constant time: how far a
 * guess was right must not show in how long it took. Without one nothing is.
 */
export function tokenCheck(token: string | undefined): (shown: string) => boolean {
  if (token === undefined) return () => false
  const hash = hashOf(token)
  return (shown) => timingSafeEqual(hashOf(shown), hash)
}
