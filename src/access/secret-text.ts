import { createHash, hash, timingSafeEqual } from 'node:crypto'
import type { Random } from '#access/file-keys'
import { isServerMadeId, isTenantIdentifier, randomId } from '#model/identifier'

/**
 * Texts of secrets: secrets of devices and keys, codes, and the header of Basic authentication. Of those that the server
 * makes, only the SHA-256 is stored: they are random, so no slower hash is needed. Contract 2, 7.
 */

/** 256 bits. Contract 7. */
const secretBytes = 32
/** 22 Base58 characters: 128 bits, without characters that are easily confused. */
const codeCharacters = 22

/** More than any of these texts needs. A longer text is refused before it is hashed. */
const textCharactersMax = 256

/** The secret of a device or a key. */
export function newSecret(random: Random): string {
  return base64urlOf(random(secretBytes))
}

/** The code of a sign-up or a password reset. */
export function newCode(random: Random): string {
  return randomId(random, codeCharacters)
}

export function hashOf(text: string): Uint8Array {
  return new Uint8Array(createHash('sha256').update(text).digest())
}

/** Compares in constant time, so that the duration does not reveal how much of a guess was right. */
export function isHashOf(text: string, hash: Uint8Array): boolean {
  if (text.length > textCharactersMax) return false
  const own = hashOf(text)
  return own.length === hash.length && timingSafeEqual(own, hash)
}

/** `<tenant>.<id>.<secret>`: tenant and id name the stored key. */
export function apiKeyText(tenant: string, id: string, secret: string): string {
  return `${tenant}.${id}.${secret}`
}

/** Tenant and id of the key; `isHashOf` checks the secret. Inverse of `apiKeyText`. */
export function readApiKey(text: string): { readonly tenant: string; readonly id: string } | undefined {
  const [tenant = '', id = '', secret = '', ...more] = splitSecret(text)
  const isValid = isTenantIdentifier(tenant) && isServerMadeId(id) && isSecret(secret) && more.length === 0
  return isValid ? { tenant, id } : undefined
}

/** `<id>.<secret>`, without the tenant. */
export function provisioningKeyText(id: string, secret: string): string {
  return `${id}.${secret}`
}

/** Inverse of `provisioningKeyText`. */
export function readProvisioningKey(text: string): { readonly id: string } | undefined {
  const [id = '', secret = '', ...more] = splitSecret(text)
  return isServerMadeId(id) && isSecret(secret) && more.length === 0 ? { id } : undefined
}

function splitSecret(text: string): string[] {
  return text.length > textCharactersMax ? [] : text.split('.')
}

function isSecret(text: string): boolean {
  return text.length === Math.ceil((secretBytes * 4) / 3) && isBase64url(text)
}

/**
 * Returns a function that compares a token with the expected token in constant time. It keeps only the hash of the
 * expected token. Without an expected token, no token matches.
 */
export function tokenMatcher(token: string | undefined): (shown: string) => boolean {
  if (token === undefined) return () => false
  const hash = hashOf(token)
  return (shown) => timingSafeEqual(hashOf(shown), hash)
}

/** Identifies a token without revealing it: as `ath` of a proof (RFC 9449 §4.2), in the cache, and in the store. */
export function tokenHash(token: string): string {
  return hash('sha256', token, 'base64url')
}

/**
 * Base64url as RFC 7515 §2 defines it: no padding, no characters of other alphabets, one text per value.
 *
 * Node's own decoder skips unknown characters and accepts both alphabets. Where a text is signed, hashed or cached, a
 * second spelling of the same bytes would count as a different value.
 */

export function isBase64url(text: string): boolean {
  return readBase64url(text) !== undefined
}

/** The bytes; undefined if the text is not their canonical spelling. */
export function readBase64url(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : undefined
}

export function base64urlOf(bytes: Uint8Array | string): string {
  // The same memory as a Buffer, which can write Base64url.
  const buffer =
    typeof bytes === 'string' ? Buffer.from(bytes) : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return buffer.toString('base64url')
}

/**
 * Whether a text has three canonical parts. jose also accepts line breaks, and last characters with extra bits. An
 * empty signature passes here, and is refused later. RFC 7515 §7.1.
 */
export function isCompactJws(text: string): boolean {
  const parts = text.split('.')
  return parts.length === 3 && parts[0] !== '' && parts[1] !== '' && parts.every(isBase64url)
}

/** The content of `Authorization: Basic`. RFC 7617. */
export interface BasicCredentials {
  readonly name: string
  readonly password: string
}

/** More than the longest name and password need, at four bytes per character. */
const headerCharactersMax = 8_192

const basicPattern = /^basic +([A-Za-z0-9+/]+={0,2})$/i
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Name and password, split at the first colon: a password may contain a colon, a name may not. Undefined for another
 * scheme, for Base64 that is not canonical, for bytes that are not UTF-8, for a text without a colon, and for a header
 * that is too long.
 */
export function readBasic(header: string): BasicCredentials | undefined {
  if (header.length > headerCharactersMax) return undefined
  const [, encoded] = basicPattern.exec(header) ?? []
  const text = encoded === undefined ? undefined : decodeUtf8(encoded)
  const colon = text?.indexOf(':') ?? -1
  return text === undefined || colon < 0 ? undefined : { name: text.slice(0, colon), password: text.slice(colon + 1) }
}

function decodeUtf8(encoded: string): string | undefined {
  const bytes = Buffer.from(encoded, 'base64')
  if (bytes.toString('base64') !== encoded) return undefined
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}
