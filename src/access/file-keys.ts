import { hkdfSync } from 'node:crypto'

/** What the key beside the database is used for: one key for each use, so that no use can tell about another. */
export interface FileKeys {
  /** Makes refresh tokens of the DPoP scheme. */
  readonly refresh: Uint8Array
  /** Seals what has to be read again: TOTP secrets, private signing keys. */
  readonly seal: Uint8Array
  /** Signs the addresses of images. */
  readonly images: Uint8Array
  /** Signs the addresses by which mails are ended. */
  readonly unsubscribe: Uint8Array
  /** Says which file it was, and nothing about it: kept in the store, so that a wrong file is noticed. */
  readonly fingerprint: Uint8Array
}

/** Of the file's key and of each derived one. */
const fileKeyBytes = 32

/**
 * By HKDF-SHA-256 (RFC 5869) without salt: the file's key is random already.
 *
 * @throws RangeError for a key of another length, which is not one of ours.
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
