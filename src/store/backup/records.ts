import { createHash, type Hash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { z } from 'zod'
import {
  BackupEnd,
  BackupError,
  BackupHead,
  backupFormat,
  backupVersion,
  blockBytesMax,
  isFileName,
  jsonBytesMax,
  keyBytesMax,
  magic,
  prefixBytes,
  recordKinds,
  valueBytesMax,
} from '#store/backup/format'

/** A part of a backup. The parts are, in order: a head, rows, files, each followed by its pieces, and an end. */
export type BackupItem =
  | { readonly kind: 'head'; readonly head: BackupHead }
  | { readonly kind: 'row'; readonly key: string; readonly value: Uint8Array }
  | { readonly kind: 'file'; readonly name: string; readonly size: number }
  /** A part of the last file, whose pieces together have `size` bytes. */
  | { readonly kind: 'piece'; readonly bytes: Uint8Array }
  | { readonly kind: 'end'; readonly end: BackupEnd }

/** Writes records into blocks. */
export class RecordWriter {
  readonly #blocks: BlockWriter
  readonly #prefix = Buffer.alloc(prefixBytes.file)
  readonly end = { rows: 0, rowBytes: 0, files: 0, fileBytes: 0 }

  constructor(blocks: BlockWriter) {
    this.#blocks = blocks
  }

  *putHead(head: Omit<BackupHead, 'format' | 'version'>): Generator<Uint8Array> {
    yield* this.#putJson(recordKinds.head, { format: backupFormat, version: backupVersion, ...head })
  }

  *putRow(key: string, value: Uint8Array): Generator<Uint8Array> {
    const name = Buffer.from(key)
    if (name.length > keyBytesMax || value.byteLength > valueBytesMax) throw new Error(`a row is too large: ${key}`)
    this.#prefix.writeUInt8(recordKinds.row, 0)
    this.#prefix.writeUInt16LE(name.length, 1)
    this.#prefix.writeUInt32LE(value.byteLength, 3)
    yield* this.#blocks.put(this.#prefix.subarray(0, prefixBytes.row))
    yield* this.#blocks.put(name)
    yield* this.#blocks.put(value)
    this.end.rows++
    this.end.rowBytes += name.length + value.byteLength
  }

  /** The caller must then pass `size` bytes to `putPiece`. */
  *putFile(name: string, size: number): Generator<Uint8Array> {
    const text = Buffer.from(name)
    this.#prefix.writeUInt8(recordKinds.file, 0)
    this.#prefix.writeUInt16LE(text.length, 1)
    this.#prefix.writeBigUInt64LE(BigInt(size), 3)
    yield* this.#blocks.put(this.#prefix)
    yield* this.#blocks.put(text)
    this.end.files++
    this.end.fileBytes += size
  }

  putPiece(bytes: Uint8Array): Generator<Uint8Array> {
    return this.#blocks.put(bytes)
  }

  *putEnd(): Generator<Uint8Array> {
    yield* this.#putJson(recordKinds.end, this.end)
    yield* this.#blocks.end()
  }

  *#putJson(kind: number, value: object): Generator<Uint8Array> {
    const text = Buffer.from(JSON.stringify(value))
    this.#prefix.writeUInt8(kind, 0)
    this.#prefix.writeUInt32LE(text.length, 1)
    yield* this.#blocks.put(this.#prefix.subarray(0, prefixBytes.json))
    yield* this.#blocks.put(text)
  }
}

/**
 * Reads a backup from its first byte to its last. Once the caller has received `end`, the backup is known to be
 * complete and undamaged.
 *
 * @throws BackupError; errors of the source
 */
export async function* readBackup(source: AsyncIterable<Uint8Array>): AsyncGenerator<BackupItem> {
  const bytes = new ByteSource(openBlocks(source), () => wrong('it is cut off'))
  yield { kind: 'head', head: await readHead(bytes) }
  const counts = { rows: 0, rowBytes: 0, files: 0, fileBytes: 0 }
  let lastKey: Uint8Array = Buffer.alloc(0)
  let lastName = ''
  for (;;) {
    const kind = (await bytes.take(1)).readUInt8(0)
    if (kind === recordKinds.row) {
      const lengths = await bytes.take(prefixBytes.row - 1)
      const valueBytes = lengths.readUInt32LE(2)
      if (valueBytes > valueBytesMax) throw wrong(`a row of ${valueBytes} bytes`)
      const key = await bytes.take(lengths.readUInt16LE(0))
      const value = await bytes.take(valueBytes)
      if (counts.files > 0 || Buffer.compare(key, lastKey) <= 0) throw wrong(`the row ${key} is not in order`)
      lastKey = key
      counts.rows++
      counts.rowBytes += key.length + value.length
      yield { kind: 'row', key: key.toString(), value }
    } else if (kind === recordKinds.file) {
      const lengths = await bytes.take(prefixBytes.file - 1)
      const size = Number(lengths.readBigUInt64LE(2))
      const name = (await bytes.take(lengths.readUInt16LE(0))).toString()
      if (!isFileName(name) || name <= lastName) throw wrong(`it must not contain a file named ${JSON.stringify(name)}`)
      lastName = name
      counts.files++
      counts.fileBytes += size
      yield { kind: 'file', name, size }
      for (let left = size; left > 0; ) {
        const piece = await bytes.takeSome(left)
        left -= piece.length
        yield { kind: 'piece', bytes: piece }
      }
    } else if (kind === recordKinds.end) {
      const end = BackupEnd.safeParse(await readJson(bytes)).data
      if (!end) throw wrong('its end is not valid')
      for (const name of Object.keys(counts) as (keyof BackupEnd)[]) {
        if (end[name] !== counts[name]) throw wrong(`it should hold ${end[name]} ${name}, but holds ${counts[name]}`)
      }
      if (await bytes.has(1)) throw wrong('there is data after its end')
      yield { kind: 'end', end }
      return
    } else {
      throw wrong(`a record of kind ${kind} is unknown`)
    }
  }
}

/** All checksums up to here are right, so another release or program wrote this. */
function wrong(what: string): BackupError {
  return new BackupError(`this release can't read the backup: ${what}`)
}

async function readHead(bytes: ByteSource): Promise<BackupHead> {
  if ((await bytes.take(1)).readUInt8(0) !== recordKinds.head) throw wrong('it has no head')
  const json = await readJson(bytes)
  const { version } = z.looseObject({ version: z.int() }).safeParse(json).data ?? {}
  if (version !== undefined && version > backupVersion) {
    throw new BackupError(`a newer release made the backup (version ${version}; this one reads ${backupVersion})`)
  }
  const head = BackupHead.safeParse(json).data
  if (!head) throw wrong('its head is not valid')
  return head
}

async function readJson(bytes: ByteSource): Promise<unknown> {
  const length = (await bytes.take(4)).readUInt32LE(0)
  if (length > jsonBytesMax) throw wrong(`${length} bytes of JSON`)
  const text = (await bytes.take(length)).toString()
  try {
    return JSON.parse(text)
  } catch {
    throw wrong('a record is not valid JSON')
  }
}

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
async function* openBlocks(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const bytes = new ByteSource(source, (at) => new BackupError(`the backup is cut off at byte ${at}: take another one`))
  const hash = createHash('sha256')
  if (!(await bytes.has(magic.byteLength)) || Buffer.compare(await bytes.take(magic.byteLength), magic) !== 0) {
    throw new BackupError('this is not a backup')
  }
  hash.update(magic)
  for (;;) {
    const at = bytes.takenCount
    const length = await bytes.take(4)
    hash.update(length)
    const size = length.readUInt32LE(0)
    if (size === 0) break
    if (size > blockBytesMax) throw damaged(at)
    const sum = await bytes.take(4)
    const body = await bytes.take(size)
    if (sum.readUInt32LE(0) !== crc32(body)) throw damaged(at)
    hash.update(sum).update(body)
    yield body
  }
  const at = bytes.takenCount
  if (Buffer.compare(await bytes.take(digestBytes), hash.digest()) !== 0) throw damaged(at)
  if (await bytes.has(1)) throw new BackupError(`there are bytes after the end of the backup, at byte ${at + 32}`)
}

function damaged(at: number): BackupError {
  return new BackupError(`the backup is damaged at byte ${at}: take another one`)
}

/** Reads a given number of bytes from a source of pieces of any size. */
class ByteSource {
  readonly #pieces: AsyncIterator<Uint8Array>
  readonly #cutOff: (at: number) => BackupError
  #rest: Buffer = Buffer.alloc(0)
  takenCount = 0

  /** `cutOff` gets the number of all bytes, if the source ends where more are needed. */
  constructor(pieces: AsyncIterable<Uint8Array>, cutOff: (at: number) => BackupError) {
    this.#pieces = pieces[Symbol.asyncIterator]()
    this.#cutOff = cutOff
  }

  /** Exactly `count` bytes, which must not be changed. */
  async take(count: number): Promise<Buffer> {
    if (!(await this.has(count))) throw this.#cutOff(this.takenCount + this.#rest.length)
    const taken = this.#rest.subarray(0, count)
    this.#rest = this.#rest.subarray(count)
    this.takenCount += count
    return taken
  }

  /** At least one byte and at most `countMax`. */
  async takeSome(countMax: number): Promise<Buffer> {
    await this.has(1)
    return this.take(Math.min(countMax, Math.max(this.#rest.length, 1)))
  }

  async has(count: number): Promise<boolean> {
    if (this.#rest.length >= count) return true
    const pieces = [this.#rest]
    let length = this.#rest.length
    while (length < count) {
      const { done, value } = await this.#pieces.next()
      if (done) break
      pieces.push(Buffer.from(value.buffer, value.byteOffset, value.byteLength))
      length += value.byteLength
    }
    this.#rest = Buffer.concat(pieces, length)
    return length >= count
  }
}
