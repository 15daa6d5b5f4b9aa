import type { FileHandle } from 'node:fs/promises'
import { BadBytes, ByteCursor } from '#store/level-files/byte-cursor'
import { checkedEnd, maskedCrc32c } from '#store/level-files/crc32c'
import { unsnappy } from '#store/level-files/snappy'
import { valueKind } from '#store/level-files/write-batch'

/**
 * LevelDB's tables: blocks of rows, a filter, an index of both, and a foot of 48 bytes that says where the index is. Each
 * block has 5 bytes behind it: how it is packed, and a CRC-32C that LevelDB does not look at when it reads.
 */
const footBytes = 48
export const behindBlock = 5
/** 0: as it is, 1: by snappy. */
const mostPacking = 1
const magic = 0xdb4775248b80fb57n
/** Ours have 4 KiB; a row that is larger has one of its own. */
const blockBytesMax = 512 * 1024 * 1024
/** Behind each key: its sequence number and whether it is there. */
const keyTailBytes = 8

/** Where a block lies. */
export interface BlockPlace {
  readonly at: number
  readonly bytes: number
}

export interface IndexedBlock extends BlockPlace {
  /** No key in it lies behind this one. */
  readonly upTo: Buffer
}

export interface TableRow {
  readonly key: Buffer
  readonly value: Buffer | null
  readonly sequence: number
}

/** The blocks of rows, in order, once foot, index and filter were found to be whole. @throws BadBytes */
export async function tableIndex(file: FileHandle): Promise<readonly IndexedBlock[]> {
  const { size } = await file.stat()
  if (size < footBytes) throw new BadBytes(`it has only ${size} bytes`)
  const foot = new ByteCursor(await read(file, { at: size - footBytes, bytes: footBytes }))
  const filters = place(foot, size)
  const index = place(foot, size)
  foot.at = footBytes - 8
  if (foot.take(8).readBigUInt64LE(0) !== magic) throw new BadBytes('its foot is damaged')
  for (const { value } of entriesIn(await block(file, filters))) await block(file, place(new ByteCursor(value), size))
  return entriesIn(await block(file, index)).map(({ key, value }) => ({
    ...place(new ByteCursor(value), size),
    upTo: userKey(key),
  }))
}

/**
 * The same of a table whose foot or index is damaged: wherever a checksum fits what lies before it, a block ended. What is
 * damaged itself is not among them.
 */
export async function scannedBlocks(file: FileHandle): Promise<readonly IndexedBlock[]> {
  const { size } = await file.stat()
  const bytes = await read(file, { at: 0, bytes: size })
  const found: IndexedBlock[] = []
  let isAtBlock = true
  for (let begin = 0; begin < size - footBytes; ) {
    const bytesMax: number = isAtBlock ? scannedBytesMax : searchedBytesMax
    // No block begins with two zeros: its first key shares nothing and is not empty, and what is packed says how long it is.
    const isNone = bytes[begin] === 0 && bytes[begin + 1] === 0
    const end = isNone ? undefined : blockEnd(bytes, begin, bytesMax)
    // Behind a block that is damaged the next one begins who knows where.
    isAtBlock = end !== undefined
    if (end === undefined) {
      begin++
      continue
    }
    const place = { at: begin, bytes: end - begin }
    begin = end + behindBlock
    const rows = await rowsOf(file, place).catch(() => [])
    const last = rows.at(-1)
    if (last && !isIndexOf(found, rows)) found.push({ ...place, upTo: last.key })
  }
  return found
}

/** Larger ones hold a row that is larger, and are not looked for where nobody knows where one begins. */
const scannedBytesMax = 4 * 1024 * 1024
const searchedBytesMax = 16 * 1024

/** Up to there it is content, and the byte there says how that is packed. */
function blockEnd(bytes: Buffer, begin: number, bytesMax: number): number | undefined {
  return checkedEnd(bytes, begin, Math.min(bytes.length - behindBlock, begin + bytesMax), mostPacking)
}

/** It has the form of a block of rows, and says of each of these where it is. */
function isIndexOf(blocks: readonly IndexedBlock[], rows: readonly TableRow[]): boolean {
  const value = rows[0]?.value
  if (!value || value.length > 20) return false
  try {
    const cursor = new ByteCursor(value)
    const [at, bytes] = [cursor.varint(), cursor.varint()]
    return cursor.left === 0 && blocks.some((block) => block.at === at && block.bytes === bytes)
  } catch {
    return false
  }
}

/** The rows of one block. Of a key that has several, the newest comes first. @throws BadBytes */
export async function rowsOf(file: FileHandle, at: BlockPlace): Promise<readonly TableRow[]> {
  return entriesIn(await block(file, at)).map(({ key, value }) => {
    const own = userKey(key)
    const tail = key.readBigUInt64LE(own.length)
    const isValue = valueKind(Number(tail & 0xffn))
    return { key: own, value: isValue ? value : null, sequence: Number(tail >> 8n) }
  })
}

/** Without its tail. @throws BadBytes */
export function userKey(key: Buffer): Buffer {
  if (key.length < keyTailBytes) throw new BadBytes('a key is too short')
  return key.subarray(0, key.length - keyTailBytes)
}

function place(cursor: ByteCursor, size: number): BlockPlace {
  const at = cursor.varint()
  const bytes = cursor.varint()
  if (bytes > blockBytesMax || at + bytes + behindBlock > size)
    throw new BadBytes('it refers to what lies behind its end')
  return { at, bytes }
}

async function block(file: FileHandle, { at, bytes }: BlockPlace): Promise<Buffer> {
  const found = await read(file, { at, bytes: bytes + behindBlock })
  if (found.readUInt32LE(bytes + 1) !== maskedCrc32c(found.subarray(0, bytes + 1)))
    throw new BadBytes(`its block at byte ${at} is damaged`)
  const content = found.subarray(0, bytes)
  const packing = found.readUInt8(bytes)
  if (packing > mostPacking) throw new BadBytes(`its block at byte ${at} is packed in a way of ${packing}`)
  return packing === 1 ? unsnappy(content, blockBytesMax) : content
}

async function read(file: FileHandle, { at, bytes }: BlockPlace): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(bytes)
  const { bytesRead } = await file.read(buffer, 0, bytes, at)
  if (bytesRead !== bytes) throw new BadBytes('it ends too soon')
  return buffer
}

/** Keys are written as how many bytes they share with the one before, and the rest. At the end: places to begin at. */
function entriesIn(content: Buffer): { readonly key: Buffer; readonly value: Buffer }[] {
  if (content.length < 4) throw new BadBytes('a block is too short')
  const restarts = content.readUInt32LE(content.length - 4)
  const end = content.length - 4 * (restarts + 1)
  if (end < 0) throw new BadBytes('a block is too short')
  const cursor = new ByteCursor(content.subarray(0, end))
  const found: { key: Buffer; value: Buffer }[] = []
  let before: Buffer = Buffer.alloc(0)
  while (cursor.left > 0) {
    const shared = cursor.varint()
    const own = cursor.varint()
    const size = cursor.varint()
    if (shared > before.length) throw new BadBytes('a key shares more than there is')
    const rest = cursor.take(own)
    const key = shared === 0 ? rest : Buffer.concat([before.subarray(0, shared), rest])
    found.push({ key, value: cursor.take(size) })
    before = key
  }
  return found
}
