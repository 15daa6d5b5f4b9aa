import { createHash, type Hash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { BackupError, blockBytesMax, magic } from '#store/backup/format'

const headBytes = 8
const digestBytes = 32

/** Writes bytes into blocks. The caller owns the returned blocks. */
export class BlockWriter {
  readonly #hash: Hash = createHash('sha256')
  #block = Buffer.allocUnsafe(headBytes + blockBytesMax)
  #filled = 0

  start(): Uint8Array {
    this.#hash.update(magic)
    return magic
  }

  /** Yields the blocks that these bytes fill, one at a time: sealing one takes some tenths of a millisecond. */
  *put(bytes: Uint8Array): Generator<Uint8Array> {
    for (let at = 0; at < bytes.byteLength; ) {
      const count = Math.min(bytes.byteLength - at, blockBytesMax - this.#filled)
      this.#block.set(bytes.subarray(at, at + count), headBytes + this.#filled)
      this.#filled += count
      at += count
      if (this.#filled === blockBytesMax) yield this.#seal()
    }
  }

  *end(): Generator<Uint8Array> {
    if (this.#filled > 0) yield this.#seal()
    const end = Buffer.alloc(4)
    this.#hash.update(end)
    yield Buffer.concat([end, this.#hash.digest()])
  }

  #seal(): Uint8Array {
    const block = this.#block.subarray(0, headBytes + this.#filled)
    const body = block.subarray(headBytes)
    block.writeUInt32LE(body.length, 0)
    block.writeUInt32LE(crc32(body), 4)
    this.#hash.update(block)
    this.#block = Buffer.allocUnsafe(headBytes + blockBytesMax)
    this.#filled = 0
    return block
  }
}

/**
 * Yields the content of blocks in pieces, each after its checksum was verified.
 * @throws BackupError if this is not a backup, if it is damaged or cut off, or if bytes follow its end; errors of the
 * source
 */
export async function* openBlocks(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const bytes = new ByteSource(source)
  const hash = createHash('sha256')
  const first = await bytes.take(magic.byteLength)
  if (!first || Buffer.compare(first, magic) !== 0) throw new BackupError('this is not a backup')
  hash.update(first)
  for (;;) {
    const at = bytes.takenCount
    const length = await bytes.take(4)
    if (!length) throw cutOff(bytes.takenCount)
    hash.update(length)
    const size = length.readUInt32LE(0)
    if (size === 0) break
    if (size > blockBytesMax) throw damaged(at)
    const sum = await bytes.take(4)
    const body = sum && (await bytes.take(size))
    if (!sum || !body) throw cutOff(bytes.takenCount)
    if (sum.readUInt32LE(0) !== crc32(body)) throw damaged(at)
    hash.update(sum).update(body)
    yield body
  }
  const at = bytes.takenCount
  const digest = await bytes.take(digestBytes)
  if (!digest) throw cutOff(bytes.takenCount)
  if (Buffer.compare(digest, hash.digest()) !== 0) throw damaged(at)
  if (await bytes.take(1)) throw new BackupError(`there are bytes after the end of the backup, at byte ${at + 32}`)
}

function cutOff(at: number): BackupError {
  return new BackupError(`the backup is cut off at byte ${at}: take another one`)
}

function damaged(at: number): BackupError {
  return new BackupError(`the backup is damaged at byte ${at}: take another one`)
}

/** Reads a given number of bytes from a source of pieces of any size. */
export class ByteSource {
  readonly #pieces: AsyncIterator<Uint8Array>
  #rest: Buffer = Buffer.alloc(0)
  takenCount = 0

  constructor(pieces: AsyncIterable<Uint8Array>) {
    this.#pieces = pieces[Symbol.asyncIterator]()
  }

  /** Exactly `count` bytes, which must not be changed; undefined if the source ends before. */
  async take(count: number): Promise<Buffer | undefined> {
    if (this.#rest.length < count && !(await this.#fill(count))) return undefined
    const taken = this.#rest.subarray(0, count)
    this.#rest = this.#rest.subarray(count)
    this.takenCount += count
    return taken
  }

  /** At least one byte and at most `countMax`; undefined at the end. */
  async takeSome(countMax: number): Promise<Buffer | undefined> {
    if (this.#rest.length === 0 && !(await this.#fill(1))) return undefined
    return this.take(Math.min(countMax, this.#rest.length))
  }

  async #fill(count: number): Promise<boolean> {
    const pieces = [this.#rest]
    let length = this.#rest.length
    while (length < count) {
      const { done, value } = await this.#pieces.next()
      if (done) break
      const piece = Buffer.from(value.buffer, value.byteOffset, value.byteLength)
      pieces.push(piece)
      length += piece.length
    }
    this.#rest = pieces.length === 1 ? this.#rest : Buffer.concat(pieces, length)
    if (length < count) this.takenCount += length
    return length >= count
  }
}
