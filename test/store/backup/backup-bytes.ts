import { createHash } from 'node:crypto'
import { type BackupItem, BlockWriter, RecordWriter, readBackup } from '#store/backup/records'

export interface Content {
  readonly rows: readonly (readonly [key: string, value: Uint8Array])[]
  readonly files: readonly (readonly [name: string, bytes: Uint8Array])[]
  readonly createdAt?: number
  readonly keySpace?: number
}

export function bytesOfBackup({ rows, files, createdAt = 1_790_000_000_000, keySpace = 1 }: Content): Buffer {
  const blocks = new BlockWriter()
  const records = new RecordWriter(blocks)
  const pieces = [blocks.start(), ...records.putHead({ createdAt, keySpace })]
  for (const [key, value] of rows) pieces.push(...records.putRow(key, value))
  for (const [name, bytes] of files) pieces.push(...records.putFile(name, bytes.length), ...records.putPiece(bytes))
  return Buffer.concat([...pieces, ...records.putEnd()])
}

/** Splits the bytes into pieces, as a network or a disk may deliver them. */
export async function* inPieces(bytes: Uint8Array, pieceBytes = 1 << 16): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes)
}

/** Reads a whole backup and joins the pieces of each file. */
export async function readWhole(source: AsyncIterable<Uint8Array>): Promise<Content & { readonly ended: boolean }> {
  const rows: [string, Uint8Array][] = []
  const files: [string, Uint8Array][] = []
  let head: Extract<BackupItem, { kind: 'head' }>['head'] | undefined
  let ended = false
  for await (const item of readBackup(source)) {
    if (item.kind === 'head') head = item.head
    else if (item.kind === 'row') rows.push([item.key, Uint8Array.from(item.value)])
    else if (item.kind === 'file') files.push([item.name, new Uint8Array(0)])
    else if (item.kind === 'piece') {
      const file = files.at(-1)
      if (file) file[1] = Uint8Array.from([...file[1], ...item.bytes])
    } else ended = true
  }
  return { rows, files, ended, ...(head && { createdAt: head.createdAt, keySpace: head.keySpace }) }
}

export const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** The path of an image in a backup, and its bytes. */
export const imageOf = (bytes: Uint8Array): readonly [string, Uint8Array] => [`images/${sha256Of(bytes)}`, bytes]
