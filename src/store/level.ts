import { mkdir, readdir, realpath } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Level } from 'level'
import {
  type Operation,
  type Scan,
  type ScanRange,
  type Storage,
  type StorageBackend,
  StorageFailure,
} from '#runtime/storage'
import { closedFailure, failureFrom } from '#store/failure'
import { sizeOfFiles, syncFolder } from '#store/file-system'
import { headroomIn } from '#store/headroom'
import { checkDatabase } from '#store/level-files/database-check'
import { isDatabaseMissing, missingDatabaseText } from '#store/level-files/folder'
import { createDatabase } from '#store/level-files/manifest'
import { LevelScan, PageReads } from '#store/level-scan'

const MIB = 1024 * 1024

/**
 * Measured with 30 000 batches on two cores and ext4. Each batch writes a stream chunk of 1–64 KiB, in key order, and
 * four of 100 000 snapshots of 400 B, and deletes an old chunk, so that 8 000 remain. LevelDB's defaults: 5 300
 * batches/s, 7.0 s of CPU, 277 MiB and 142 files afterwards. These settings: 6 000–8 000 batches/s, 5.3 s, 160 MiB, 20
 * files; p99 1.3–2.0 ms; 120 000–230 000 `get`/s.
 */
const tuning = {
  /**
   * Less is rewritten than with the default of 4 MiB. Not 32 MiB (10 000 batches/s): a reopening may have to write out
   * two full logs as tables, which must fit in a headroom of 64 MiB with space to spare. Opening takes 40 ms with 16
   * MiB, and 95 ms with 32 MiB.
   */
  writeBufferSize: 16 * MIB,
  /** A seventh of the files that the default of 2 MiB would give, so 16 GB of data stay within `maxOpenFiles`. */
  maxFileSize: 8 * MIB,
  /** Twice as much, or blocks of 8 and 16 KiB, made no measurable difference: the pages are mapped anyway. */
  cacheSize: 32 * MIB,
  /** A tenth of the process's 20 000 descriptors; the others are for sockets. */
  maxOpenFiles: 2000,
  /** Snappy: without it the speed is the same, with 390 MiB on the disk. */
  compression: true,
} as const

/**
 * LevelDB loses a lock it holds when the same process tries to open the folder a second time: it opens and closes the
 * LOCK file, and closing any descriptor of a file drops the process's POSIX locks on it. (Seen: after such a refused
 * open another process opened the folder.) So a second open must not reach LevelDB. For the same reason no code in this
 * process may open `db/LOCK`; a copy of the folder leaves it out.
 */
const foldersOpen = new Set<string>()

export interface LevelStorageOptions {
  /** Created by `open`, readable by its owner only. It holds the database in `db`, and the headroom in `headroom`. */
  readonly folder: string
  /** Disk space reserved for reopening on a full disk; 0 for none. Opening needs up to 32 MiB. */
  readonly headroomBytes: number
  /**
   * The space that `hasRoom` requires in addition to the headroom; by default as much as the headroom, and at least 16
   * MiB.
   */
  readonly roomBytes?: number
  /** Called with a text when `open` drops the end of a log, because its write was interrupted. */
  readonly torn?: (message: string) => void
  /** Whether the folder is that of a node of a cluster. Default: false. */
  readonly isShared?: boolean
}

/** A LevelDB store in a folder on a disk. `open` refuses a damaged database, and repairs nothing. */
export function levelStorage(options: LevelStorageOptions): StorageBackend {
  const { folder, headroomBytes, roomBytes, torn = () => {}, isShared = false } = options
  const home = resolve(folder)
  return {
    open: () => openLevel(home, isShared, torn),
    ...headroomIn(home, headroomBytes, roomBytes ?? Math.max(16 * MIB, headroomBytes)),
  }
}

async function openLevel(folder: string, isShared: boolean, torn: (message: string) => void): Promise<Storage> {
  let home: string | undefined
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const found = await realpath(folder)
    if (foldersOpen.has(found)) throw new StorageFailure('locked', `${folder}: this process has it open already`)
    foldersOpen.add(found)
    home = found
    await refuseInterrupted(found)
    if (await isDatabaseMissing(found, isShared)) throw new NamedDamage(missingDatabaseText(found))
    await assertUndamaged(found, torn)
    await createDatabase(join(found, 'db'))
    const database = new Level<string, Uint8Array>(join(found, 'db'), {
      keyEncoding: 'utf8',
      valueEncoding: 'view',
      ...tuning,
    })
    await database.open()
    // LevelDB renames CURRENT without a sync. After a power loss, CURRENT could name the old manifest again, so that
    // LevelDB reads the previous log, whose end may be lost, before the new one. On ext4 any fsync is enough.
    await syncFolder(join(found, 'db'))
    // Synced before other files are created next to the database: those files prove that the database existed.
    await syncFolder(found)
    return new LevelStorage(database, found)
  } catch (error) {
    if (home !== undefined) foldersOpen.delete(home)
    throw failureFrom(error, folder)
  }
}

/** Holds a backup while it is restored. While it exists, the folder around it is not a data folder. */
export const restoringFolder = 'restoring'

async function refuseInterrupted(folder: string): Promise<void> {
  const names = await readdir(folder)
  if (names.includes(restoringFolder)) throw new NamedDamage(interruptedRestoreText(folder))
  if (names.includes(repairingFolder)) {
    const message = 'a repair is under way here, or was interrupted; if none is running, run it again'
    throw new NamedDamage(`${folder}: ${message}: npm run admin -- repair`)
  }
}

/** Holds the new database during a repair. While it exists, the folder around it is not a data folder. */
export const repairingFolder = 'repairing'
/** The prefix for the name of the damaged database after a repair. */
export const damagedPrefix = 'damaged-'

/** The message for a restore that was interrupted. */
export function interruptedRestoreText(folder: string): string {
  return `${folder}: a restore is under way here, or was interrupted; if none is running, empty the folder and restore again`
}

/** The limit of attempts to check a database: a server that uses the folder may change it during the check. */
const checksMax = 3

/**
 * LevelDB itself skips damaged parts of a log without an error, and does not verify most of what it reads.
 * @throws StorageFailure `damaged`
 */
async function assertUndamaged(folder: string, torn: (message: string) => void): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const found = await checkDatabase(join(folder, 'db'), 'ends')
    if (found.damage.length === 0) {
      for (const message of found.torn) torn(message)
      return
    }
    if (attempt === checksMax) throw new NamedDamage(damagedText(folder, found.damage))
  }
}

/** The message names the damage or the interrupted work, and what to do. */
class NamedDamage extends StorageFailure {
  constructor(message: string, options?: { cause?: unknown }) {
    super('damaged', message, options)
  }
}

/**
 * Finds the damage that prevented the server from starting, or returns the error. LevelDB does not verify checksums of
 * tables, so damage may cause any error. Call it after the folder was closed: it reads the whole database.
 */
export async function findDamage(error: unknown, folder: string): Promise<unknown> {
  if (error instanceof NamedDamage || (error instanceof StorageFailure && error.code !== 'damaged')) return error
  const { damage } = await checkDatabase(join(resolve(folder), 'db'), 'whole').catch(() => ({ damage: [] }))
  return damage.length > 0 ? new NamedDamage(damagedText(folder, damage), { cause: error }) : error
}

const damageShown = 3

/** The message that lists the damage, and what to do. */
function damagedText(folder: string, damage: readonly string[]): string {
  const more = damage.length > damageShown ? `; and ${damage.length - damageShown} more` : ''
  return (
    `${folder}: the database is damaged: ${damage.slice(0, damageShown).join('; ')}${more}. ` +
    'Restore a backup, or save what can be saved: npm run admin -- repair'
  )
}

class LevelStorage implements Storage {
  readonly #database: Level<string, Uint8Array>
  readonly #folder: string
  readonly #scanning = new PageReads()
  #lastWrite: Promise<unknown> = Promise.resolve()
  #isPoisoned = false
  #closing: Promise<void> | undefined

  constructor(database: Level<string, Uint8Array>, folder: string) {
    this.#database = database
    this.#folder = folder
  }

  get(key: string): Uint8Array | undefined {
    this.#assertOpen()
    try {
      // Bytes, not the string itself: classic-level 3.0.0 writes a string into a shared buffer and silently cuts off a
      // character of several bytes that crosses its end, so it reads another key. Bytes cost the same (3.4 µs).
      return this.#database.getSync(Buffer.from(key), { keyEncoding: 'buffer', valueEncoding: 'view' })
    } catch (error) {
      throw failureFrom(error, this.#folder)
    }
  }

  /**
   * Writes run one at a time, in the order of the calls; `operations` must not change before the promise is settled.
   */
  write(operations: readonly Operation[], { sync }: { readonly sync: boolean }): Promise<void> {
    if (this.#closing !== undefined) return Promise.reject(closedFailure(this.#folder))
    const done = this.#lastWrite.then(() => this.#commit(operations, sync))
    this.#lastWrite = done.catch(() => undefined)
    return done
  }

  /** A chained batch: 2 ms of this thread for 5 000 operations; an array takes 4.7 ms. */
  async #commit(operations: readonly Operation[], sync: boolean): Promise<void> {
    // LevelDB 1.20 advances in its log even when an append failed: after a reopening, later records are not found.
    if (this.#isPoisoned) throw new StorageFailure('poisoned', `${this.#folder}: an earlier write failed; reopen it`)
    const batch = this.#database.batch()
    try {
      for (const { key, value } of operations) {
        if (value === null) batch.del(key)
        else batch.put(key, value)
      }
      await batch.write({ sync })
    } catch (error) {
      this.#isPoisoned = true
      await batch.close()
      throw failureFrom(error, this.#folder)
    }
  }

  scan(range: ScanRange): Scan {
    this.#assertOpen()
    return new LevelScan(this.#database, this.#folder, range, this.#scanning)
  }

  /** Cached blocks and tables in memory: at most `cacheSize` plus twice `writeBufferSize`. */
  memoryBytes(): number {
    if (this.#closing !== undefined) return 0
    // A method of the package behind `level`, missing in its types.
    const { getProperty } = this.#database as unknown as { getProperty(name: string): string }
    return Number(getProperty.call(this.#database, 'leveldb.approximate-memory-usage'))
  }

  diskBytes(): Promise<number> {
    return sizeOfFiles(join(this.#folder, 'db'))
  }

  async compact(): Promise<void> {
    this.#assertOpen()
    // A method of the package behind `level`, missing in its types.
    const database = this.#database as unknown as { compactRange(start: string, end: string): Promise<void> }
    await this.#scanning.during(database.compactRange('', '\u{10ffff}')).catch((error) => {
      throw failureFrom(error, this.#folder)
    })
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    await Promise.all([this.#lastWrite, this.#scanning.end()])
    try {
      // Closes remaining scans.
      await this.#database.close()
    } catch (error) {
      throw failureFrom(error, this.#folder)
    }
    foldersOpen.delete(this.#folder)
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw closedFailure(this.#folder)
  }
}
