import { hash } from 'node:crypto'

/** Identifies a token without revealing it: as `ath` of a proof (RFC 9449 §4.2) and as key of the cache. */
export function tokenHash(token: string): string {
  return hash('sha256', token, 'base64url')
}
