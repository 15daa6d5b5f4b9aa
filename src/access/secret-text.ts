import { createHash, timingSafeEqual } from 'node:crypto'
import { base64urlOf, isBase64url } from '#access/base64url'
import type { Random } from '#access/random'
import { isServerMadeId, isTenantIdentifier } from '#model/identifier'
import { randomId } from '#model/server-made-id'

/**
 * Secrets that the server makes, as people and programs carry them. Of each only the SHA-256 is kept: they are random
 * through and through, so nothing slower is needed against guessing. Contract 2, 7.
 */

/** 256 bits. Contract 7. */
const secretBytes = 32
/** 22 Base58 characters: 128 bits, and nothing that is mistaken when it is read aloud. */
const codeCharacters = 22
/** 80 bits in Base32. */
const recoveryBytes = 10
const recoveryCodeCount = 10

/** Never longer than this, whatever it is: a longer one is wrong before it is hashed. */
const textCharactersMax = 256

/** Of a device or a key. */
export function newSecret(random: Random): string {
  return base64urlOf(random(secretBytes))
}

/** With which a name becomes an account, or a password another. */
export function newCode(random: Random): string {
  return randomId(random, codeCharacters)
}

export function hashOf(text: string): Uint8Array {
  return new Uint8Array(createHash('sha256').update(text).digest())
}

/** In constant time: how far a guess was right must not show in how long it took. */
export function isHashOf(text: string, hash: Uint8Array): boolean {
  if (text.length > textCharactersMax) return false
  const own = hashOf(text)
  return own.length === hash.length && timingSafeEqual(own, hash)
}

/** `<tenant>.<id>.<secret>`: says where it is looked up. */
export function apiKeyText(tenant: string, id: string, secret: string): string {
  return `${tenant}.${id}.${secret}`
}

/** Where to look it up; whether it is the key that is there, `isHashOf` says. Undone by `apiKeyText`. */
export function readApiKey(text: string): { readonly tenant: string; readonly id: string } | undefined {
  const [tenant = '', id = '', secret = '', ...more] = splitSecret(text)
  const isGood = isTenantIdentifier(tenant) && isServerMadeId(id) && isSecret(secret) && more.length === 0
  return isGood ? { tenant, id } : undefined
}

/** `<id>.<secret>`: its tenant stands in front of it wherever it is used. */
export function provisioningKeyText(id: string, secret: string): string {
  return `${id}.${secret}`
}

/** Undone by `provisioningKeyText`. */
export function readProvisioningKey(text: string): { readonly id: string } | undefined {
  const [id = '', secret = '', ...more] = splitSecret(text)
  return isServerMadeId(id) && isSecret(secret) && more.length === 0 ? { id } : undefined
}

/** Ten, each good once: `ABCD-EFGH-IJKL-MNOP`. */
export function newRecoveryCodes(random: Random): string[] {
  return Array.from({ length: recoveryCodeCount }, () => groupsOf(base32Of(random(recoveryBytes))).join('-'))
}

/** As it was given out, however it was typed: case, spaces and hyphens do not count. */
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

/** RFC 4648 §6, for whole groups of five bytes. */
function base32Of(bytes: Uint8Array): string {
  let bits = 0n
  for (const byte of bytes) bits = (bits << 8n) | BigInt(byte)
  const characters = (bytes.length * 8) / 5
  return Array.from({ length: characters }, (_, place) => {
    const shift = BigInt((characters - 1 - place) * 5)
    return 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.charAt(Number((bits >> shift) & 31n))
  }).join('')
}

/**
 * Whether what is shown is this token, which somebody chose and of which only the hash is kept. In constant time: how far a
 * guess was right must not show in how long it took. Without one nothing is.
 */
export function tokenCheck(token: string | undefined): (shown: string) => boolean {
  if (token === undefined) return () => false
  const hash = hashOf(token)
  return (shown) => timingSafeEqual(hashOf(shown), hash)
}
