/**
 * A backup, as bytes: what a store holds at one moment, and the files beside it. All numbers little-endian.
 *
 * | bytes | what |
 * |---|---|
 * | 8 | `magic` |
 * | 4 + 4 + n | a block, again and again: n, 1 to 65 536; CRC-32 of what follows; n bytes |
 * | 4 | 0: no block follows |
 * | 32 | SHA-256 of everything before it |
 *
 * What the blocks hold, put together, is records; one may span several blocks.
 *
 * | record | what |
 * |---|---|
 * | 1 | 4 bytes of length, JSON: `BackupHead`. The first one, once |
 * | 2 | 2 bytes of key length, 4 of value length, key in UTF-8, value: a row of the store; keys ascend |
 * | 3 | 2 bytes of name length, 8 of length, name, that many bytes: a file below the data folder; behind the rows |
 * | 4 | 4 bytes of length, JSON: `BackupEnd`. The last one |
 */
export const magic: Uint8Array = Buffer.from('\x89DDB\r\n\x1a\n', 'latin1')

export const blockBytesMax = 64 * 1024

/** The version of this page. */
export const backupVersion = 1

export const backupFormat = 'device-data-backend backup'

export const recordKinds = { head: 1, row: 2, file: 3, end: 4 } as const

/** Sizes in bytes of what stands in front of a record's own bytes, its kind included. */
export const prefixBytes = { json: 5, row: 7, file: 11 } as const

/** Nothing of ours comes near: a snapshot of a device with all that it may declare is some megabytes. */
export const valueBytesMax = 256 * 1024 * 1024
export const keyBytesMax = 0xffff
export const jsonBytesMax = 64 * 1024

export interface BackupHead {
  readonly format: typeof backupFormat
  readonly version: number
  /** Unix ms. */
  readonly createdAt: number
  /** The version of the key space that the rows are of. */
  readonly keySpace: number
}

/** What should have been read by here. */
export interface BackupEnd {
  readonly rows: number
  /** Of keys and values. */
  readonly rowBytes: number
  readonly files: number
  readonly fileBytes: number
}

/** The only files that a backup may name: what it says becomes a path. */
export const keyFileName = 'identity.key'
export const imageFolder = 'images'
const names = /^(?:identity\.key|images\/[0-9a-f]{64})$/

export function isFileName(name: string): boolean {
  return names.test(name)
}

/** Why a backup is not taken, made or brought back, and what to do, for people. */
export class BackupRefused extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'BackupRefused'
  }
}
