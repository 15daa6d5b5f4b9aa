import { createHash, type Hash } from 'node:crypto'
import { type FileHandle, mkdir, open, readdir, rename, rm, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Operation, Storage } from '#runtime/storage'
import { type BackupEnd, BackupError, type BackupHead, imageFolder, keyFileName } from '#store/backup/format'
import { type BackupItem, readBackup } from '#store/backup/records'
import { failureFrom } from '#store/failure'
import { isMissing, syncFolder } from '#store/file-system'
import { everyKeyOfNode, keySpace } from '#store/key-space'
import { interruptedRestoreText, levelStorage, restoringFolder } from '#store/level'
import { pagesOf } from '#store/pages'

/** Rows are written in batches of this size. */
const batchBytes = 1024 * 1024

/** Names that file systems themselves put into the root of a volume. */
const volumeNames: ReadonlySet<string> = new Set(['lost+found'])

export interface RestoreResult {
  readonly head: BackupHead
  readonly end: BackupEnd
}

/**
 * Restores a backup into a data folder that is empty or does not exist.
 *
 * Obligations
 * - No file gets its final name before the whole backup was read, its end mark included, and the written rows were read
 *   again.
 * - Until all files have their final names, the folder holds `restoring`, and no server opens it.
 * - When the promise is fulfilled, the folder survives a power failure. When it is rejected, the folder is as it was,
 *   or, if the disk failed while files got their final names, holds `restoring`.
 *
 * Positions of clients: epochs are restored, and the next start of the server begins a new one. So a position given
 * after the backup lies beyond the last offset of its epoch, or belongs to an unknown epoch.
 *
 * @throws BackupError, StorageFailure
 */
export async function restoreBackup(bytes: AsyncIterable<Uint8Array>, folder: string): Promise<RestoreResult> {
  const isNew = await makeEmpty(folder)
  const staging = join(folder, restoringFolder)
  try {
    await mkdir(staging, { mode: 0o700 })
  } catch (error) {
    throw failureFrom(error, folder)
  }
  let restored: RestoreResult
  try {
    restored = await fillStaging(staging, bytes)
  } catch (error) {
    await rm(staging, { recursive: true, force: true }).catch(() => undefined)
    if (isNew) await rmdir(folder).catch(() => undefined)
    throw error instanceof BackupError ? error : failureFrom(error, folder)
  }
  try {
    await moveIntoPlace(staging, folder)
  } catch (error) {
    throw failureFrom(error, folder)
  }
  return restored
}

/** Resolves to true if the folder was created. */
async function makeEmpty(folder: string): Promise<boolean> {
  let names: string[]
  try {
    names = await readdir(folder)
  } catch (error) {
    if (!isMissing(error)) throw failureFrom(error, folder)
    await mkdir(folder, { recursive: true, mode: 0o700 })
    return true
  }
  if (names.includes(restoringFolder)) throw new BackupError(interruptedRestoreText(folder))
  const found = names.filter((name) => !volumeNames.has(name))
  if (found.length > 0) {
    throw new BackupError(
      `${folder} is not empty (${found.slice(0, 3).join(', ')}${found.length > 3 ? ', …' : ''}): ` +
        'stop the server, move the folder out of the way, and restore into a new one',
    )
  }
  return false
}

async function fillStaging(staging: string, bytes: AsyncIterable<Uint8Array>): Promise<RestoreResult> {
  const backend = levelStorage({ folder: staging, headroomBytes: 0 })
  const storage = await backend.open()
  const files = new StagedFiles(staging)
  try {
    const rows = new StagedRows(storage)
    const restored = await writeItems(readBackup(bytes), rows, files)
    await rows.end()
    await files.end()
    if ((await digestOf(storage)) !== rows.digest) {
      throw new BackupError('the written data differs when it is read again: check disk and memory of this machine')
    }
    return restored
  } finally {
    await files.close()
    await storage.close()
  }
}

async function writeItems(
  items: AsyncIterable<BackupItem>,
  rows: StagedRows,
  files: StagedFiles,
): Promise<RestoreResult> {
  let head: BackupHead | undefined
  let end: BackupEnd | undefined
  for await (const item of items) {
    if (item.kind === 'row') await rows.put(item.key, item.value)
    else if (item.kind === 'file') await files.begin(item.name)
    else if (item.kind === 'piece') await files.append(item.bytes)
    else if (item.kind === 'end') end = item.end
    else {
      head = item.head
      if (head.keySpace > keySpace.version) {
        throw new BackupError(
          `the backup is of a newer release (key space ${head.keySpace}; this one reads ${keySpace.version})`,
        )
      }
    }
  }
  if (!head || !end) throw new Error('a backup without head or end was read as whole')
  return { head, end }
}

/** Writes rows into a new store and computes a digest of them. */
export class StagedRows {
  readonly #storage: Storage
  readonly #hash = createHash('sha256')
  #batch: Operation[] = []
  #bytes = 0

  constructor(storage: Storage) {
    this.#storage = storage
  }

  async put(key: string, value: Uint8Array): Promise<void> {
    hashRow(this.#hash, key, value)
    this.#batch.push({ key, value })
    this.#bytes += key.length + value.byteLength
    if (this.#bytes >= batchBytes) await this.#write(false)
  }

  /** Syncs all rows. Rows that are not in the current log are in tables, which LevelDB has synced. */
  async end(): Promise<void> {
    await this.#write(true)
  }

  get digest(): string {
    return this.#hash.copy().digest('hex')
  }

  async #write(sync: boolean): Promise<void> {
    const batch = this.#batch
    this.#batch = []
    this.#bytes = 0
    await this.#storage.write(batch, { sync })
  }
}

async function digestOf(storage: Storage): Promise<string> {
  const hash = createHash('sha256')
  for await (const page of pagesOf(storage, { ...everyKeyOfNode, hasValues: true })) {
    for (const { key, value } of page) hashRow(hash, key, value)
  }
  return hash.digest('hex')
}

function hashRow(hash: Hash, key: string, value: Uint8Array): void {
  hash.update(`${Buffer.byteLength(key)} ${value.byteLength} ${key}`).update(value)
}

/** Writes files, one at a time, before they get their final names. */
class StagedFiles {
  readonly #staging: string
  #open: { readonly handle: FileHandle; readonly hash: Hash; readonly sha256: string | undefined } | undefined

  constructor(staging: string) {
    this.#staging = staging
  }

  /** `name` is one that a backup may hold. */
  async begin(name: string): Promise<void> {
    await this.end()
    const isImage = name.startsWith(`${imageFolder}/`)
    if (name !== keyFileName) await mkdir(dirname(join(this.#staging, name)), { recursive: true, mode: 0o700 })
    const handle = await open(join(this.#staging, name), 'wx', 0o600)
    const sha256 = isImage ? name.slice(imageFolder.length + 1) : undefined
    this.#open = { handle, hash: createHash('sha256'), sha256 }
  }

  async append(bytes: Uint8Array): Promise<void> {
    this.#open?.hash.update(bytes)
    await this.#open?.handle.appendFile(bytes)
  }

  /** @throws BackupError if the content of an image does not match the SHA-256 in its name */
  async end(): Promise<void> {
    if (!this.#open) return
    const { handle, hash, sha256 } = this.#open
    await handle.sync()
    await this.close()
    const found = hash.digest('hex')
    if (sha256 !== undefined && sha256 !== found) {
      throw new BackupError(`the image ${sha256} was damaged before it was backed up: its SHA-256 is ${found}`)
    }
  }

  async close(): Promise<void> {
    const opened = this.#open
    this.#open = undefined
    await opened?.handle.close()
  }
}

/** Moves the content of the staging folder into the data folder, the database last; then removes the staging folder. */
export async function moveIntoPlace(staging: string, folder: string): Promise<void> {
  const names = (await readdir(staging)).filter((name) => name !== 'db').sort()
  if (names.includes(imageFolder)) await syncFolder(join(staging, imageFolder))
  if (names.includes('history')) await syncFolder(join(staging, 'history', 'db'))
  await syncFolder(join(staging, 'db'))
  await syncFolder(staging)
  for (const name of [...names, 'db']) await rename(join(staging, name), join(folder, name))
  await syncFolder(folder)
  await rmdir(staging)
  await syncFolder(folder)
}
