import { createHash, type Hash } from 'node:crypto'
import { rmSync, statSync } from 'node:fs'
import { constants, type FileHandle, link, open, readdir, rename, rm, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { isMissing, statOf } from '#store/file-system'

const pieceBytes = 64 * 1024
/**
 * The number of parts without a writer whose hash stays in memory; other parts are read again when an upload resumes.
 */
const hashesMax = 64

/** A part that is open for writing. */
export interface OpenPart {
  readonly handle: FileHandle
  readonly hash: Hash
  received: number
}

/**
 * Files of incomplete uploads. A second file for each part records how many of its bytes are synced: after a power
 * loss, bytes that were being written may be zeros. The hash so far stays in memory, or is computed again from the
 * file.
 *
 * For each name, only one method may run at a time.
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
    // Hashed, because a name contains text that a user chose.
    return join(this.#folder, `${createHash('sha256').update(name).digest('hex')}.part`)
  }

  /** The number of synced bytes of a part; 0 if the part does not exist, is too old, or is shorter than recorded. */
  async receivedOf(name: string): Promise<number> {
    const file = this.fileOf(name)
    const found = await statOf(file)
    if (!found || this.#isOld(found.mtimeMs)) return 0
    const bytes = await readSyncedLength(lengthOf(file))
    return bytes <= found.size ? bytes : 0
  }

  /**
   * Opens a part to continue after `received` synced bytes; 0 begins a new file. Later bytes, which were never
   * confirmed to a client, are cut off.
   */
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

  /** Syncs all bytes that were written so far. */
  async sync(name: string, part: OpenPart): Promise<void> {
    await part.handle.datasync()
    await recordSynced(lengthOf(this.fileOf(name)), part.received)
  }

  /** Removes the bytes that are not synced, after a failed write. */
  async cutOff(name: string): Promise<void> {
    this.#hashes.delete(name)
    const file = this.fileOf(name)
    const bytes = await readSyncedLength(lengthOf(file))
    if (bytes === 0) await this.remove(name)
    else if (((await statOf(file))?.size ?? 0) > bytes) await truncate(file, bytes)
  }

  /** Syncs the part and keeps its hash, so that the part can be opened again. The caller closes the handle. */
  async pause(name: string, part: OpenPart): Promise<void> {
    await this.sync(name, part)
    this.#hashes.delete(name)
    this.#hashes.set(name, { hash: part.hash, received: part.received })
    const [oldest] = this.#hashes.keys()
    if (oldest !== undefined && this.#hashes.size > hashesMax) this.#hashes.delete(oldest)
  }

  /**
   * Links the part to the name `file`, and replaces a file of this name. On a file system without hard links the part
   * is renamed.
   */
  async linkTo(name: string, file: string): Promise<void> {
    const own = this.fileOf(name)
    const second = linkNameOf(own)
    await rm(second, { force: true })
    try {
      await link(own, second)
    } catch {
      await rename(own, file)
      return
    }
    await rename(second, file)
    // If both were the same file already, `rename` did nothing.
    await rm(second, { force: true })
  }

  async remove(name: string): Promise<void> {
    this.#hashes.delete(name)
    const file = this.fileOf(name)
    // The length first: if it remained, it would count for the next part of this name.
    await rm(lengthOf(file), { force: true })
    await rm(file, { force: true })
  }

  /**
   * Deletes parts that are too old, and complete parts whose image has an owner: `owned(bytes)` returns the names of
   * such uploads with this length. The parts of the names in `keep` stay.
   */
  async sweep(keep: ReadonlySet<string>, owned: (bytes: number) => Iterable<string> = () => []): Promise<void> {
    const entries = await readdir(this.#folder)
    // Synchronous from here on, so that no upload can begin in between.
    const keptFiles = new Set(Array.from(keep, (name) => this.fileOf(name)))
    const left = new Map<string, number>()
    for (const file of entries.map((entry) => join(this.#folder, entry))) {
      const found = statSync(file, { throwIfNoEntry: false })
      if (!found || keptFiles.has(partOf(file))) continue
      if (this.#isOld(found.mtimeMs) || file.endsWith(linkSuffix)) rmSync(file, { force: true })
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
    const cached = this.#hashes.get(name)
    this.#hashes.delete(name)
    if (cached?.received === received) return cached.hash
    const hash = createHash('sha256')
    const piece = Buffer.allocUnsafe(pieceBytes)
    // In pieces, so that other work can run in between.
    for (let at = 0; at < received; ) {
      const { bytesRead } = await handle.read(piece, 0, Math.min(pieceBytes, received - at), at)
      if (bytesRead === 0) throw new Error(`${this.fileOf(name)} has become shorter`)
      hash.update(piece.subarray(0, bytesRead))
      at += bytesRead
    }
    return hash
  }

  #isOld(changedAt: number): boolean {
    return this.#now() - changedAt > this.#ageMsMax
  }
}

const linkSuffix = '.whole'

/** The second name of a complete part, which is then renamed to the name of the image. */
function linkNameOf(file: string): string {
  return `${file}${linkSuffix}`
}

const lengthSuffix = '.length'

/** The file that records how much of a part is synced. */
function lengthOf(file: string): string {
  return `${file}${lengthSuffix}`
}

function partOf(file: string): string {
  const [ending] = [linkSuffix, lengthSuffix].filter((end) => file.endsWith(end))
  return ending === undefined ? file : file.slice(0, -ending.length)
}

/** The size of a row: a length and an end of line. */
const rowBytes = 16
/** The number of rows to read from the end: more than power losses can leave unreadable in sequence. */
const rowsRead = 64

/**
 * Reads how many bytes of a part are synced. The file at `path` has rows of equal length, of which the last readable
 * one counts. 0 if the file does not exist. A power loss may leave the last row cut off or filled with zeros.
 */
export async function readSyncedLength(path: string): Promise<number> {
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

/** Records that the first `bytes` of a file are synced. When the promise is fulfilled, the record is synced too. */
export async function recordSynced(path: string, bytes: number): Promise<void> {
  const file = await open(path, constants.O_RDWR | constants.O_CREAT, 0o600)
  try {
    const { size } = await file.stat()
    await file.write(`${String(bytes).padStart(rowBytes - 1, '0')}\n`, startOfRow(size), 'latin1')
    await file.datasync()
  } finally {
    await file.close()
  }
}

/** The position of the next row. A row that is cut off is overwritten. */
function startOfRow(size: number): number {
  return size - (size % rowBytes)
}
