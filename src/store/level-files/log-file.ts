import { crc32c, maskedCrc32c, maskOf } from '#store/level-files/crc32c'

/**
 * LevelDB's logs, and its manifest, which has the same form: blocks of 32 KiB that contain pieces, each with a head of
 * 7 bytes (CRC-32C, length, kind) and content. A record is one piece, or several if it does not fit in a block.
 */

const blockBytes = 32 * 1024
const headBytes = 7
const kinds = { zero: 0, full: 1, first: 2, middle: 3, last: 4 } as const

export interface LogReading {
  readonly records: readonly Uint8Array[]
  /** The end of each record in the file. */
  readonly ends: readonly number[]
  /**
   * The start of the first invalid record, if no valid record follows: it was being written when the process or the
   * machine died, and was never confirmed; or the last record is damaged.
   */
  readonly tornAt?: number
  /**
   * With `tornAt`: the file ends within the invalid record, or has only zeros from there on. LevelDB itself takes that
   * for the end, also of a manifest.
   */
  readonly isCutOff?: boolean
  /**
   * The position of damage: an invalid record with a valid one after it, or an interrupted one that is followed by
   * another.
   */
  readonly damagedAt?: number
}

/** Reads the log up to the first invalid record. LevelDB itself skips damaged records without an error. */
export function readLog(bytes: Buffer): LogReading {
  const records: Uint8Array[] = []
  const ends: number[] = []
  let parts: Uint8Array[] | undefined
  let begunAt = 0
  for (let at = 0; at < bytes.length; ) {
    const piece = pieceAt(bytes, at)
    if (!piece) return { records, ends, ...faultAt(bytes, at, parts && begunAt) }
    at = piece.end
    if (piece.kind === undefined) continue
    const isBeginning = piece.kind === kinds.full || piece.kind === kinds.first
    // The rest of the previous record is missing, and this piece is valid.
    if (isBeginning && parts) return { records, ends, damagedAt: begunAt }
    if (!isBeginning && !parts) return { records, ends, ...faultAt(bytes, piece.at) }
    if (isBeginning) begunAt = piece.at
    parts = [...(parts ?? []), piece.content]
    if (piece.kind === kinds.first || piece.kind === kinds.middle) continue
    records.push(parts.length === 1 ? piece.content : Buffer.concat(parts))
    ends.push(at)
    parts = undefined
  }
  return parts ? { records, ends, tornAt: begunAt, isCutOff: true } : { records, ends }
}

/** A log of one record. @param content must fit in the first block */
export function logOf(content: Uint8Array): Buffer {
  if (headBytes + content.length > blockBytes) throw new RangeError('the record does not fit in a block')
  const bytes = Buffer.concat([Buffer.alloc(headBytes), content])
  bytes.writeUInt16LE(content.length, 4)
  bytes.writeUInt8(kinds.full, 6)
  bytes.writeUInt32LE(maskedCrc32c(bytes.subarray(6)), 0)
  return bytes
}

interface Piece {
  readonly at: number
  readonly end: number
  /** The type in its head. Undefined: the piece is the rest of a block, too small for a head. */
  readonly kind: number | undefined
  readonly content: Uint8Array
}

/** The piece at this position; undefined if it is not valid. */
function pieceAt(bytes: Buffer, at: number): Piece | undefined {
  // A length that is damaged or cut off may point anywhere.
  if (at >= bytes.length) return undefined
  const left = blockBytes - (at % blockBytes)
  if (left < headBytes) {
    const rest = bytes.subarray(at, at + left)
    return rest.every((byte) => byte === 0) ? { at, end: at + rest.length, kind: undefined, content: rest } : undefined
  }
  if (at + headBytes > bytes.length) return undefined
  const length = bytes.readUInt16LE(at + 4)
  const kind = bytes.readUInt8(at + 6)
  const end = at + headBytes + length
  if (kind === kinds.zero || kind > kinds.last || headBytes + length > left || end > bytes.length) return undefined
  if (bytes.readUInt32LE(at) !== maskedCrc32c(bytes.subarray(at + 6, end))) return undefined
  return { at, end, kind, content: bytes.subarray(at + headBytes, end) }
}

/** `begunAt`: the start of the record that has a part at this position, if it began before. */
function faultAt(bytes: Buffer, at: number, begunAt = at): Omit<LogReading, 'records' | 'ends'> {
  if (hasLaterRecord(bytes, at)) return { damagedAt: at }
  const isCutOff =
    at + headBytes > bytes.length ||
    at + headBytes + bytes.readUInt16LE(at + 4) > bytes.length ||
    bytes.subarray(at).every((byte) => byte === 0)
  return { tornAt: begunAt, isCutOff }
}

/** Whether a record that begins later is valid, at least in its first piece. */
function hasLaterRecord(bytes: Buffer, at: number): boolean {
  for (const start of laterStarts(bytes, at)) {
    for (let piece = pieceAt(bytes, start); piece; piece = pieceAt(bytes, piece.end)) {
      if (piece.kind === kinds.full || piece.kind === kinds.first) return true
    }
  }
  return false
}

/**
 * Positions at which a later record may begin: the end given by the length of the piece at `at`, each later block, and
 * the end at which the checksum of this piece matches.
 */
function* laterStarts(bytes: Buffer, at: number): Generator<number> {
  if (at + headBytes <= bytes.length) yield at + headBytes + bytes.readUInt16LE(at + 4)
  const next = at - (at % blockBytes) + blockBytes
  for (let block = next; block < bytes.length; block += blockBytes) yield block
  const end = endByChecksum(bytes, at, Math.min(next, bytes.length))
  if (end !== undefined) yield end
}

/**
 * The end of a piece with a damaged length: where the checksum matches. The content of this piece is not searched for
 * others: a device may send a value that looks like a record, and an interrupted write would then look like damage.
 */
function endByChecksum(bytes: Buffer, at: number, endMax: number): number | undefined {
  if (at + headBytes > endMax) return undefined
  const wanted = bytes.readUInt32LE(at)
  let sum = crc32c(bytes.subarray(at + headBytes - 1, at + headBytes))
  for (let end = at + headBytes; ; end++) {
    if (maskOf(sum) === wanted) return end
    if (end >= endMax) return undefined
    sum = crc32c(bytes.subarray(end, end + 1), sum)
  }
}
