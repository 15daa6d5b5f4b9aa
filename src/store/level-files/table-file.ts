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

/** One that was looked for, and read: its first and its last key. */
export interface ScannedBlock extends IndexedBlock {
  readonly from: Buffer
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
 * damaged itself is not among them, nor what lies where its keys do not belong: what is there twice, or in a value.
 *
 * @param isOurs whether the table may hold these keys
 */
export async function scannedBlocks(
  file: FileHandle,
  isOurs: (from: Buffer, upTo: Buffer) => boolean = () => true,
): Promise<readonly ScannedBlock[]> {
  const { size } = await file.stat()
  const bytes = await read(file, { at: 0, bytes: size })
  const found: ScannedBlock[] = []
  let isAtBlock = true
  for (let begin = 0; begin < size - footBytes; ) {
    const bytesMax: number = isAtBlock ? scannedBytesMax : searchedBytesMax
    const end = mayBegin(bytes, begin) ? blockEnd(bytes, begin, bytesMax) : undefined
    // Behind a block that is damaged the next one begins who knows where.
    isAtBlock = end !== undefined
    if (end === undefined) {
      begin++
      continue
    }
    const place = { at: begin, bytes: end - begin }
    begin = end + behindBlock
    const keys = await keysOf(file, place)
    if (keys && isOurs(keys.from, keys.upTo)) found.push({ ...place, ...keys })
  }
  return longestRise(found)
}

/** Larger ones hold a row that is larger, and are not looked for where nobody knows where one begins. */
const scannedBytesMax = 4 * 1024 * 1024
const searchedBytesMax = 256 * 1024

/**
 * What a block of rows begins with: a key that shares nothing with another one and is not empty. Packed by snappy: how long it
 * is, then bytes as they are, for there is nothing yet to copy from.
 */
function mayBegin(bytes: Buffer, at: number): boolean {
  if (bytes[at] === 0) return bytes[at + 1] !== 0
  let tagAt = at + 1
  while (tagAt < at + 5 && (bytes[tagAt - 1] as number) >= 0x80) tagAt++
  const tag = bytes[tagAt] as number
  // The six bits of a literal are its length, or from 60 on how many bytes of length follow.
  const lengthBytes = Math.max(0, (tag >> 2) - 59)
  return (tag & 3) === 0 && bytes[tagAt + 1 + lengthBytes] === 0
}

/** Up to there it is content, and the byte there says how that is packed. */
function blockEnd(bytes: Buffer, begin: number, bytesMax: number): number | undefined {
  return checkedEnd(bytes, begin, Math.min(bytes.length - behindBlock, begin + bytesMax), mostPacking)
}

/** The first and the last key; undefined for what holds no rows in order, as the index and filters do. */
async function keysOf(file: FileHandle, at: BlockPlace): Promise<{ from: Buffer; upTo: Buffer } | undefined> {
  try {
    const entries = entriesIn(await block(file, at))
    const keys = rowsIn(entries).map(({ key }) => key)
    const [from, upTo] = [keys[0], keys.at(-1)]
    const isInOrder = keys.every((key, place) => place === 0 || Buffer.compare(keys[place - 1] as Buffer, key) <= 0)
    return from && upTo && isInOrder && !isIndex(entries) ? { from, upTo } : undefined
  } catch (error) {
    if (error instanceof BadBytes) return undefined
    throw error
  }
}

/** It has the form of a block of rows, and says of each block where it is: one behind the other, from the beginning on. */
function isIndex(entries: readonly Entry[]): boolean {
  try {
    let next = 0
    for (const { value } of entries) {
      const cursor = new ByteCursor(value)
      if (cursor.varint() !== next) return false
      next += cursor.varint() + behindBlock
      if (cursor.left > 0) return false
    }
    return true
  } catch {
    return false
  }
}

/** Those that are in order, of all such choices the one with the most bytes. */
function longestRise(blocks: readonly ScannedBlock[]): readonly ScannedBlock[] {
  interface Rise {
    readonly block: ScannedBlock
    readonly bytes: number
    readonly before: Rise | undefined
  }
  const rises: Rise[] = []
  let best: Rise | undefined
  for (const block of blocks) {
    let before: Rise | undefined
    // The versions of one key may lie on both sides of a border.
    for (const rise of rises) {
      const fits = Buffer.compare(rise.block.upTo, block.from) <= 0
      if (fits && rise.bytes > (before?.bytes ?? 0)) before = rise
    }
    const rise = { block, bytes: block.bytes + (before?.bytes ?? 0), before }
    rises.push(rise)
    if (!best || rise.bytes > best.bytes) best = rise
  }
  const chosen: ScannedBlock[] = []
  for (let rise = best; rise; rise = rise.before) chosen.unshift(rise.block)
  return chosen
}

/** The rows of one block. Of a key that has several, the newest comes first. @throws BadBytes */
export async function rowsOf(file: FileHandle, at: BlockPlace): Promise<readonly TableRow[]> {
  return rowsIn(entriesIn(await block(file, at)))
}

function rowsIn(entries: readonly Entry[]): readonly TableRow[] {
  return entries.map(({ key, value }) => {
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

interface Entry {
  readonly key: Buffer
  readonly value: Buffer
}

/** Keys are written as how many bytes they share with the one before, and the rest. At the end: places to begin at. */
function entriesIn(content: Buffer): readonly Entry[] {
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
