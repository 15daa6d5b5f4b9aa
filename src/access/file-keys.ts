import { hkdfSync } from 'node:crypto'

/** Keys derived from the key file: one for each purpose, so that one purpose reveals nothing about another. */
export interface FileKeys {
  /** Authenticates refresh tokens of the DPoP scheme. */
  readonly refresh: Uint8Array
  /** Seals secrets that have to be read again: TOTP secrets, private signing keys. */
  readonly seal: Uint8Array
  /** Signs image URLs. */
  readonly images: Uint8Array
  /** Signs unsubscribe URLs. */
  readonly unsubscribe: Uint8Array
  /** Identifies the key file without revealing anything about it. Stored, so that a wrong file is noticed. */
  readonly fingerprint: Uint8Array
}

/** Of the file's key and of each derived key. */
const fileKeyBytes = 32

/**
 * By HKDF-SHA-256 (RFC 5869) without salt: the file's key is random already.
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
