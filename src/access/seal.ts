import { createCipheriv, createDecipheriv } from 'node:crypto'
import type { Random } from '#access/random'

/**
 * Seals secrets that have to be read again: AES-256-GCM under the seal key of the key file.
 *
 * `context` names the owner (`<tenant>/<user>`, a key's id). It is authenticated, so a sealed secret that is moved to
 * another record does not open there.
 */

const algorithm = 'aes-256-gcm'
/** NIST SP 800-38D §8.2.2: random, good for 2³² seals under one key. */
const nonceBytes = 12
const tagBytes = 16

/** Nonce, tag, then as many bytes as `plain`. Inverse of `open`. */
export function seal(key: Uint8Array, plain: Uint8Array, context: string, random: Random): Uint8Array {
  const nonce = random(nonceBytes)
  const cipher = createCipheriv(algorithm, key, nonce, { authTagLength: tagBytes }).setAAD(Buffer.from(context))
  const sealed = [cipher.update(plain), cipher.final()]
  return new Uint8Array(Buffer.concat([nonce, cipher.getAuthTag(), ...sealed]))
}

/** Undefined if it was sealed with another key or context, or was changed. Inverse of `seal`. */
export function open(key: Uint8Array, sealed: Uint8Array, context: string): Uint8Array | undefined {
  if (sealed.length < nonceBytes + tagBytes) return undefined
  const nonce = sealed.subarray(0, nonceBytes)
  const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes })
    .setAAD(Buffer.from(context))
    .setAuthTag(sealed.subarray(nonceBytes, nonceBytes + tagBytes))
  try {
    return new Uint8Array(Buffer.concat([decipher.update(sealed.subarray(nonceBytes + tagBytes)), decipher.final()]))
  } catch {
    return undefined
  }
}
