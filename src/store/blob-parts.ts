import { createHash, type Hash } from 'node:crypto'
import { rmSync, statSync } from 'node:fs'
import { constants, type FileHandle, link, open, readdir, rename, rm, stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { isMissing } from '#store/missing'

const pieceBytes = 64 * 1024
/** How many parts that nobody writes just now keep their hash; others are read again to go on. */
const hashesMax = 64

/** One part, open to be written on. */
export interface OpenPart {
  readonly handle: FileHandle
  readonly hash: Hash
  received: number
}

/**
 * Files of what has not come whole, in a folder. Of a part its bytes are kept, and beside them how many of these are on the
 * disk: of what was being written at a power loss there may be zeros. The hash so far stays in memory, or is made again from
 * the file.
 *
 * Nothing here is called for one name twice at a time.
 */
export class BlobParts {
  readonly #folder: string
  readonly #ageMsMax: number
  readonly #now: () => number
  readonly #hashes = new Map<string, { readonly hash: Hash; readonly received: number }>()

  constructor(folder: string, ageMsMax: number, now: () => number) {
    this.#folder = folder
    this.#ageMsMax = ageMsMax
    this.#now = now
  }

  fileOf(name: string): string {
    // Names hold what people chose.
    return join(this.#folder, `${createHash('sha256').update(name).digest('hex')}.part`)
  }

  /** 0 for one that is not there, or too old. */
  async receivedOf(name: string): Promise<number> {
    const file = this.fileOf(name)
    const found = await this.#statOf(file)
    if (!found || this.#isOld(found.mtimeMs)) return 0
    const bytes = await syncedLength(lengthOf(file))
    return bytes <= found.size ? bytes : 0
  }

  /** To go on behind `received` bytes, which are there; 0: none is. What is behind them was never told to be there. */
  async open(name: string, received: number): Promise<OpenPart> {
    const handle = await open(this.fileOf(name), received === 0 ? 'wx+' : 'r+', 0o600)
    try {
      const { size } = await handle.stat()
      if (size > received) await handle.truncate(received)
      return { handle, hash: await this.#hashOf(name, handle, received), received }
    } catch (error) {
      await handle.close()
      throw error
    }
  }

  /** What has come so far is there for good. */
  async keep(name: string, part: OpenPart): Promise<void> {
    await part.handle.datasync()
    await saySynced(lengthOf(this.fileOf(name)), part.received)
  }

  /** Of what was being written when the disk refused, there is what was kept. */
  async cutOff(name: string): Promise<void> {
    this.#hashes.delete(name)
    const file = this.fileOf(name)
    const bytes = await syncedLength(lengthOf(file))
    if (bytes === 0) await this.remove(name)
    else if (((await this.#statOf(file))?.size ?? 0) > bytes) await truncate(file, bytes)
  }

  /** It stays as it is, to be gone on with. */
  async rest(name: string, part: OpenPart): Promise<void> {
    await this.keep(name, part)
    this.#hashes.delete(name)
    this.#hashes.set(name, { hash: part.hash, received: part.received })
    const [oldest] = this.#hashes.keys()
    if (oldest !== undefined && this.#hashes.size > hashesMax) this.#hashes.delete(oldest)
  }

  /** Gives it a second name, in place of what has it; on a disk where nothing can have two, that is its only one from now on. */
  async bringTo(name: string, file: string): Promise<void> {
    const own = this.fileOf(name)
    const second = secondOf(own)
    await rm(second, { force: true })
    try {
      await link(own, second)
    } catch {
      await rename(own, file)
      return
    }
    await rename(second, file)
    // Where that was the same file already, nothing was renamed.
    await rm(second, { force: true })
  }

  async remove(name: string): Promise<void> {
    this.#hashes.delete(name)
    const file = this.fileOf(name)
    // In this order: a length beside another part would be none of it.
    await rm(lengthOf(file), { force: true })
    await rm(file, { force: true })
  }

  /** Takes away those that are too old, and those of a length whose names are owned; but none of the kept. */
  async sweep(kept: ReadonlySet<string>, owned: (bytes: number) => Iterable<string> = () => []): Promise<void> {
    const entries = await readdir(this.#folder)
    // At once from here: nobody may begin to write one in between.
    const keptFiles = new Set(Array.from(kept, (name) => this.fileOf(name)))
    const left = new Map<string, number>()
    for (const file of entries.map((entry) => join(this.#folder, entry))) {
      const found = statSync(file, { throwIfNoEntry: false })
      if (!found || keptFiles.has(partOf(file))) continue
      if (this.#isOld(found.mtimeMs) || file.endsWith(second)) rmSync(file, { force: true })
      else if (file === partOf(file)) left.set(file, found.size)
    }
    for (const bytes of new Set(left.values())) {
      for (const file of Array.from(owned(bytes), (name) => this.fileOf(name))) {
        if (left.get(file) !== bytes) continue
        rmSync(lengthOf(file), { force: true })
        rmSync(file, { force: true })
      }
    }
  }

  async #hashOf(name: string, handle: FileHandle, received: number): Promise<Hash> {
    const kept = this.#hashes.get(name)
    this.#hashes.delete(name)
    if (kept?.received === received) return kept.hash
    const hash = createHash('sha256')
    const piece = Buffer.allocUnsafe(pieceBytes)
    // Piece by piece, others have the loop in between.
    for (let at = 0; at < received; ) {
      const { bytesRead } = await handle.read(piece, 0, Math.min(pieceBytes, received - at), at)
      if (bytesRead === 0) throw new Error(`${this.fileOf(name)} has become shorter`)
      hash.update(piece.subarray(0, bytesRead))
      at += bytesRead
    }
    return hash
  }

  async #statOf(file: string) {
    try {
      return await stat(file)
    } catch (error) {
      if (isMissing(error)) return undefined
      throw error
    }
  }

  #isOld(changedAt: number): boolean {
    return this.#now() - changedAt > this.#ageMsMax
  }
}

const second = '.whole'

/** Of a part that is whole, until it has the other one. */
function secondOf(file: string): string {
  return `${file}${second}`
}

const length = '.length'

/** Says how much of a part is on the disk. */
function lengthOf(file: string): string {
  return `${file}${length}`
}

function partOf(file: string): string {
  const [beside] = [second, length].filter((end) => file.endsWith(end))
  return beside === undefined ? file : file.slice(0, -beside.length)
}

/** A length and an end of line. */
const rowBytes = 16
/** More rows than power losses can have left unreadable one behind the other. */
const rowsRead = 64

/**
 * How much of a file is on the disk, in a file beside it: rows of one length each, and the last one that can be read counts.
 * A power loss may leave the last one cut off, or nothing but zeros of it.
 */
export async function syncedLength(path: string): Promise<number> {
  let file: FileHandle | undefined
  try {
    file = await open(path, 'r')
    const { size } = await file.stat()
    const from = Math.max(0, startOfRow(size) - rowsRead * rowBytes)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(rowsRead * rowBytes), 0, rowsRead * rowBytes, from)
    const rows = buffer.toString('latin1', 0, bytesRead).match(/.{16}/gs) ?? []
    return Number(rows.findLast((row) => /^\d{15}\n$/.test(row)) ?? 0)
  } catch (error) {
    if (isMissing(error)) return 0
    throw error
  } finally {
    await file?.close()
  }
}

/** Of a file whose first `bytes` are on the disk. When this comes back, so is that. */
export async function saySynced(path: string, bytes: number): Promise<void> {
  const file = await open(path, constants.O_RDWR | constants.O_CREAT, 0o600)
  try {
    const { size } = await file.stat()
    await file.write(`${String(bytes).padStart(rowBytes - 1, '0')}\n`, startOfRow(size), 'latin1')
    await file.datasync()
  } finally {
    await file.close()
  }
}

/** What is cut off is written over. */
function startOfRow(size: number): number {
  return size - (size % rowBytes)
}
