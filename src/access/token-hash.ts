import { hash } from 'node:crypto'

/** How a token is named without being shown: `ath` of a proof (RFC 9449 §4.2), and its place among the known ones. */
export function tokenHash(token: string): string {
  return hash('sha256', token, 'base64url')
}
