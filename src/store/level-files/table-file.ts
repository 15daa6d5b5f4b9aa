import type { FileHandle } from 'node:fs/promises'
import { ByteCursor, InvalidBytes } from '#store/level-files/byte-cursor'
import { maskedCrc32c } from '#store/level-files/crc32c'

/**
 * LevelDB's tables: blocks of rows, filters, an index of each, and a footer of 48 bytes with the positions of both
 * indexes. After each block are 5 bytes: its compression and a CRC-32C. LevelDB ignores that checksum, in reads and in
 * its repair: of 40 repairs of a table with one flipped bit, 31 held rows with other bytes than were written, and one
 * aborted the process.
 */

const footerBytes = 48
const blockTrailerBytes = 5
const magic = 0xdb4775248b80fb57n
const snappy = 1

/** The position of a block's content in its file. */
export interface BlockPlace {
  readonly at: number
  readonly bytes: number
}

/**
 * The blocks whose checksum is wrong, filters among them. With `ends`, only the last of the blocks of rows is checked.
 * @throws InvalidBytes if the footer or the index is damaged: no block can be found then
 */
export async function damagedBlocks(file: FileHandle, depth: 'ends' | 'whole'): Promise<readonly BlockPlace[]> {
  const { size } = await file.stat()
  if (size < footerBytes) throw new InvalidBytes(`it has only ${size} bytes`)
  const footer = await bytesAt(file, size - footerBytes, footerBytes)
  if (footer.readBigUInt64LE(footerBytes - 8) !== magic) throw new InvalidBytes('its footer is damaged')
  const cursor = new ByteCursor(footer)
  const [filterIndex, index] = [placeIn(cursor), placeIn(cursor)]
  // No checksum protects the footer.
  if (Math.max(filterIndex.at + filterIndex.bytes, index.at + index.bytes) > size)
    throw new InvalidBytes('its footer is damaged')
  const content = await contentOf(file, index)
  if (!content) throw new InvalidBytes(`its block at byte ${index.at} is damaged`)
  const filters = placesIn((await contentOf(file, filterIndex)) ?? noEntries)
  const rows = placesIn(content)
  const damaged: BlockPlace[] = []
  for (const place of [filterIndex, ...filters, ...(depth === 'whole' ? rows : rows.slice(-1))])
    if (!(await blockAt(file, place))) damaged.push(place)
  return damaged
}

/** Makes LevelDB see that a block is damaged: no compression has this number. */
export async function invalidateBlock(file: FileHandle, { at, bytes }: BlockPlace): Promise<void> {
  await file.write(Uint8Array.of(0xff), 0, 1, at + bytes)
}

/** The block with the byte of its compression; undefined if its checksum is wrong. */
async function blockAt(file: FileHandle, { at, bytes }: BlockPlace): Promise<Buffer | undefined> {
  const found = await bytesAt(file, at, bytes + blockTrailerBytes)
  const block = found.subarray(0, bytes + 1)
  return found.readUInt32LE(bytes + 1) === maskedCrc32c(block) ? block : undefined
}

async function contentOf(file: FileHandle, place: BlockPlace): Promise<Buffer | undefined> {
  const block = await blockAt(file, place)
  if (!block) return undefined
  const content = block.subarray(0, place.bytes)
  return block[place.bytes] === snappy ? unsnappy(content) : content
}

async function bytesAt(file: FileHandle, at: number, count: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(count)
  const { bytesRead } = await file.read(buffer, 0, count, at)
  if (bytesRead !== count) throw new InvalidBytes('it ends too soon')
  return buffer
}

function placeIn(cursor: ByteCursor): BlockPlace {
  return { at: cursor.varint(), bytes: cursor.varint() }
}

/** An index without entries, with one restart point. */
const noEntries = Buffer.of(0, 0, 0, 0, 1, 0, 0, 0)

/** The block positions in an index whose checksum is right. Restart points are at its end. */
function placesIn(index: Buffer): readonly BlockPlace[] {
  const restarts = index.readUInt32LE(index.length - 4)
  const cursor = new ByteCursor(index.subarray(0, index.length - 4 * (restarts + 1)))
  const places: BlockPlace[] = []
  while (cursor.left > 0) {
    cursor.varint()
    const ownKeyBytes = cursor.varint()
    const valueBytes = cursor.varint()
    cursor.take(ownKeyBytes)
    places.push(placeIn(new ByteCursor(cursor.take(valueBytes))))
  }
  return places
}

/**
 * Decompresses Snappy (its format description of 2011). The checksum of the bytes was right, so no length is checked.
 */
function unsnappy(packed: Buffer): Buffer {
  const cursor = new ByteCursor(packed)
  const out = Buffer.alloc(cursor.varint())
  for (let at = 0; cursor.left > 0; ) {
    const tag = cursor.byte()
    const [kind, high] = [tag & 3, tag >>> 2]
    if (kind === 0) {
      const length = high < 60 ? high : cursor.take(high - 59).readUIntLE(0, high - 59)
      at += cursor.take(length + 1).copy(out, at)
      continue
    }
    const length = kind === 1 ? (high & 7) + 4 : high + 1
    const back =
      kind === 1
        ? ((tag >>> 5) << 8) | cursor.byte()
        : cursor.take(kind === 2 ? 2 : 4).readUIntLE(0, kind === 2 ? 2 : 4)
    // Byte by byte: a copy may repeat the bytes that it writes.
    for (const end = at + length; at < end; at++) out[at] = out[at - back] as number
  }
  return out
}
