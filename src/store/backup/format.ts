import { z } from 'zod'

/**
 * The file format of a backup: all rows of a store at one moment, and its other files. All numbers are little-endian.
 *
 * | bytes | content |
 * |---|---|
 * | 8 | `magic` |
 * | 4 + 4 + n | a block, repeated: n, from 1 to 65 536; CRC-32 of the n bytes; n bytes |
 * | 4 | 0: no block follows |
 * | 32 | SHA-256 of everything before it |
 *
 * The blocks together hold records; a record may span several blocks. A record begins with one byte, its kind.
 *
 * | kind | content |
 * |---|---|
 * | 1 | 4 bytes of length, JSON: `BackupHead`. The first record, once |
 * | 2 | 2 bytes of key length, 4 of value length, key in UTF-8, value: a row of the store; keys ascend |
 * | 3 | 2 bytes of name length, 8 of content length, name, content: a file in the data folder; after the rows |
 * | 4 | 4 bytes of length, JSON: `BackupEnd`. The last record |
 */

export const magic: Uint8Array = Buffer.from('\x89DDB\r\n\x1a\n', 'latin1')

export const blockBytesMax = 64 * 1024

/** The version of this format. */
export const backupVersion = 1

export const backupFormat = 'device-data-backend backup'

export const recordKinds = { head: 1, row: 2, file: 3, end: 4 } as const

/** Bytes before the content of a record, its kind included. */
export const prefixBytes = { json: 5, row: 7, file: 11 } as const

/** The largest row, a snapshot of a device with all that it may declare, has some megabytes. */
export const valueBytesMax = 256 * 1024 * 1024
export const keyBytesMax = 0xffff
export const jsonBytesMax = 64 * 1024

const Count = z.int().min(0)

export type BackupHead = z.infer<typeof BackupHead>
export const BackupHead = z.object({
  format: z.literal(backupFormat),
  version: z.int().min(1),
  /** Unix ms. */
  createdAt: Count,
  /** The version of the key space of the rows. */
  keySpace: z.int().min(1),
})

/** The counts that a reader must have read before the end. */
export type BackupEnd = z.infer<typeof BackupEnd>
/** `rowBytes`: the bytes of all keys and values. */
export const BackupEnd = z.strictObject({ rows: Count, rowBytes: Count, files: Count, fileBytes: Count })

export const keyFileName = 'identity.key'
export const imageFolder = 'images'
/** Prefix of the names of the files of the history's database. */
export const historyPrefix = 'history/db/'
export const databaseFile = /^(?:CURRENT|MANIFEST-\d+|\d+\.(?:ldb|log))$/
const names = /^(?:identity\.key|images\/[0-9a-f]{64})$/

/** Whether a backup may contain a file of this name, which becomes a path. */
export function isFileName(name: string): boolean {
  if (name.startsWith(historyPrefix)) return databaseFile.test(name.slice(historyPrefix.length))
  return names.test(name)
}

/**
 * Thrown when a backup can't be read, made or restored, or a folder can't be inspected or repaired. The message gives
 * the reason.
 */
export class BackupError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'BackupError'
  }
}
