import { createHash, hash, timingSafeEqual } from 'node:crypto'
import { Secret } from 'otpauth'
import { base64urlOf, isBase64url } from '#access/base64url'
import type { Random } from '#access/file-keys'
import { isServerMadeId, isTenantIdentifier, randomId } from '#model/identifier'

/**
 * Text forms of secrets that the server makes. Only the SHA-256 of each is stored. The secrets are random, so no slower
 * hash is needed. Contract 2, 7.
 */

/** 256 bits. Contract 7. */
const secretBytes = 32
/** 22 Base58 characters: 128 bits, without characters that are easily confused. */
const codeCharacters = 22
/** 80 bits in Base32. */
const recoveryBytes = 10
const recoveryCodeCount = 10

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

/** Ten codes, each valid once: `ABCD-EFGH-IJKL-MNOP`. */
export function newRecoveryCodes(random: Random): string[] {
  return Array.from({ length: recoveryCodeCount }, () => groupsOf(base32Of(random(recoveryBytes))).join('-'))
}

/** A typed recovery code in canonical form: case, spaces and hyphens do not count. */
export function recoveryCodeOf(typed: string): string {
  if (typed.length > textCharactersMax) return ''
  return groupsOf(typed.replace(/[\s-]/g, '').toUpperCase()).join('-')
}

function splitSecret(text: string): string[] {
  return text.length > textCharactersMax ? [] : text.split('.')
}

function isSecret(text: string): boolean {
  return text.length === Math.ceil((secretBytes * 4) / 3) && isBase64url(text)
}

function groupsOf(text: string): string[] {
  return text.match(/.{1,4}/gs) ?? []
}

/** Base32 (RFC 4648 §6) of whole groups of five bytes. */
function base32Of(bytes: Uint8Array): string {
  // A copy, because the library uses the whole underlying buffer, which may be larger.
  return new Secret({ buffer: new Uint8Array(bytes).buffer }).base32
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
