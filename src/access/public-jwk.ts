import { createHash } from 'node:crypto'
import { isBase64url } from '#access/secret-text'

/** The required members of a public P-256 key. RFC 7518 §6.2.1. */
export interface PublicJwk {
  readonly kty: 'EC'
  readonly crv: 'P-256'
  readonly x: string
  readonly y: string
}

/** 32 bytes in Base64url. Leading zeros are included. RFC 7518 §6.2.1.2. */
const coordinateCharacters = 43

/** Private members of any kind of key (RFC 7517, RFC 7518 §6). A private key that was sent is no longer secret. */
const privateMembers = ['d', 'k', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'priv']

/** The required members of a public P-256 key; undefined for any other kind, and for one with a private member. */
export function readPublicJwk(value: unknown): PublicJwk | undefined {
  const jwk = Object(value) as Readonly<Record<string, unknown>>
  const { kty, crv, x, y } = jwk
  if (kty !== 'EC' || crv !== 'P-256' || !isCoordinate(x) || !isCoordinate(y)) return undefined
  if (privateMembers.some((member) => Object.hasOwn(jwk, member))) return undefined
  return { kty, crv, x, y }
}

/** SHA-256 over the JSON of the required members, in the order of their names and without spaces. RFC 7638. */
export function thumbprintOf({ crv, kty, x, y }: PublicJwk): string {
  return createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url')
}

function isCoordinate(value: unknown): value is string {
  return typeof value === 'string' && value.length === coordinateCharacters && isBase64url(value)
}
