import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto'

/** Keys derived from the key file: one for each purpose, so that no key reveals another. */
export interface FileKeys {
  /** Authenticates refresh tokens of the DPoP scheme. */
  readonly refresh: Uint8Array
  /** Seals secrets that have to be read again: TOTP secrets, private signing keys, secrets of webhooks. */
  readonly seal: Uint8Array
  /** Signs image URLs. */
  readonly images: Uint8Array
  /** Signs unsubscribe URLs. */
  readonly unsubscribe: Uint8Array
  /** Identifies the key file without revealing anything about it. Stored, so that a wrong file is noticed. */
  readonly fingerprint: Uint8Array
}

/** The length of the file's key and of each derived key. */
const fileKeyBytes = 32

/**
 * Derives the keys by HKDF-SHA-256 (RFC 5869). It needs no salt, because the file's key is random.
 *
 * @throws RangeError for a key of another length
 */
export function fileKeysOf(fileKey: Uint8Array): FileKeys {
  if (fileKey.length !== fileKeyBytes) throw new RangeError(`the key file must hold ${fileKeyBytes} bytes`)
  const derived = (use: string) => new Uint8Array(hkdfSync('sha256', fileKey, '', use, fileKeyBytes))
  return {
    refresh: derived('refresh'),
    seal: derived('seal'),
    images: derived('images'),
    unsubscribe: derived('unsubscribe'),
    fingerprint: derived('fingerprint'),
  }
}

/**
 * Seals secrets that have to be read again: AES-256-GCM under the seal key of the key file.
 *
 * `context` names purpose and owner (`totp/<tenant>/<user>`, `signing-key/<kid>`). It is authenticated, so a sealed
 * secret that is moved to another record does not open there.
 */

const algorithm = 'aes-256-gcm'
/** A random nonce of this length is enough for 2³² seals under one key. NIST SP 800-38D §8.2.2. */
const nonceBytes = 12
const tagBytes = 16

/** Returns the nonce, the tag, and the encrypted bytes, as many as `plain` has. Inverse of `open`. */
export function seal(key: Uint8Array, plain: Uint8Array, context: string, random: Random): Uint8Array {
  const nonce = random(nonceBytes)
  const cipher = createCipheriv(algorithm, key, nonce, { authTagLength: tagBytes }).setAAD(Buffer.from(context))
  const sealed = [cipher.update(plain), cipher.final()]
  return new Uint8Array(Buffer.concat([nonce, cipher.getAuthTag(), ...sealed]))
}

/** Undefined if the secret was sealed with another key or context, or was changed. Inverse of `seal`. */
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

/** Returns unpredictable bytes. */
export type Random = (byteCount: number) => Uint8Array
