import { constants, copyFile, link, mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Level } from 'level'
import type { Row } from '#runtime/storage'
import { BackupError } from '#store/backup/format'
import { moveIntoPlace, StagedRows } from '#store/backup/restore'
import { unpackChunk } from '#store/chunk'
import { failureFrom } from '#store/failure'
import { addressOf, keys, keysBelow, numberOf, partNameOf } from '#store/key-space'
import { damagedPrefix, levelStorage, repairingFolder } from '#store/level'
import { InvalidBytes } from '#store/level-files/byte-cursor'
import {
  checkDatabase,
  checkLogs,
  missingFiles,
  readManifest,
  tableFileIn,
  tablePattern,
} from '#store/level-files/database-check'
import { filesIn, isDatabaseMissing, missingDatabaseText } from '#store/level-files/folder'
import { damagedBlocks, invalidateBlock } from '#store/level-files/table-file'
import { packRecord, unpack } from '#store/record-codec'
import { Shapes } from '#store/shapes'
import { redoFormat, wholeFormat } from '#store/store-journal'

export interface RepairResult extends RebuildResult {
  /** Each is a sentence. Empty: no damage was found. */
  readonly damage: readonly string[]
  /** The folder of the damaged database, in the data folder. Undefined: no damage was found, nothing was replaced. */
  readonly damagedFolder: string | undefined
}

export interface RepairOptions {
  readonly folder: string
  /** For the name of the folder that keeps the damaged database. */
  readonly name: string
  /** Repairs even if no damage was found. */
  readonly isForced: boolean
}

/**
 * Makes a new database from a copy of the damaged one, and keeps the damaged one.
 *
 * - No byte of the damaged database changes. It gets another name once the new one is written and synced.
 * - Until then the folder contains `repairing`, so no server opens the database. If a server has it open already, that
 *   server holds the lock, and the repair fails.
 * - The new database has no epochs, and skips offsets and device addresses: no client resumes from an earlier position,
 *   and no offset or address is assigned twice.
 * - Every row is one that the server once wrote, except `redo`, `whole` and the counters of tenants, which may be
 *   computed. A row may be an older version of the row, or a row that was deleted.
 *
 * @throws BackupError, StorageFailure
 */
export async function repairFolder({ folder, name, isForced }: RepairOptions): Promise<RepairResult> {
  const staging = join(folder, repairingFolder)
  try {
    const names = await readdir(folder)
    // A power loss can undo the removal of the last repair's copy.
    await rm(join(staging, 'copy'), { recursive: true, force: true })
    // The last repair was interrupted between its last two renames.
    if (names.includes(repairingFolder) && !names.includes('db')) await moveIntoPlace(staging, folder)
    else if (names.includes(repairingFolder)) await rm(staging, { recursive: true, force: true })
    else if (!names.includes('db')) throw new BackupError(`${folder} holds no database: set DATA_DIR`)
    const database = join(folder, 'db')
    if (await isDatabaseMissing(folder, false))
      throw new BackupError(`${missingDatabaseText(folder)}; there is nothing to repair`)
    const { damage } = await checkDatabase(database, 'whole')
    if (damage.length === 0 && !isForced) return { damage, rows: 0, leftOut: [], missing: [], damagedFolder: undefined }
    await mkdir(join(staging, 'db'), { recursive: true, mode: 0o700 })
    const rebuilt = await rebuild(database, staging).catch(async (error) => {
      await rm(staging, { recursive: true, force: true })
      throw error
    })
    const damagedFolder = `${damagedPrefix}${name}`
    await rename(database, join(folder, damagedFolder))
    await moveIntoPlace(staging, folder)
    return { damage, ...rebuilt, damagedFolder }
  } catch (error) {
    if (error instanceof BackupError) throw error
    throw failureFrom(error, folder)
  }
}

async function rebuild(database: string, staging: string): Promise<RebuildResult> {
  // A hard link: both databases share one LOCK, so opening the new one fails while a server has the damaged one open.
  if ((await filesIn(database)).names.includes('LOCK')) await link(join(database, 'LOCK'), join(staging, 'db', 'LOCK'))
  const storage = await levelStorage({ folder: staging, headroomBytes: 0 }).open()
  try {
    const copy = join(staging, 'copy')
    await mkdir(copy, { mode: 0o700 })
    await copyUndamaged(database, copy)
    // The types of `level` lack `repair`.
    await (Level as unknown as { repair(location: string): Promise<void> }).repair(copy)
    const rebuilt = await copyRows(copy, new StagedRows(storage))
    await rm(copy, { recursive: true })
    return rebuilt
  } finally {
    await storage.close()
  }
}

/**
 * Copies only the undamaged parts of tables and logs: those that the manifest names, or all, if the manifest can't be
 * read or names files that are missing. LevelDB's repair would read everything: files that are no longer in use, which
 * would restore deleted rows; blocks with a wrong checksum; and the part of a log after a fault, although later writes
 * may depend on the missing ones.
 */
async function copyUndamaged(from: string, to: string): Promise<void> {
  const { names } = await filesIn(from)
  const found = names.includes('CURRENT') ? await readManifest(from, names) : ''
  const manifest = typeof found === 'string' || missingFiles(names, found).length > 0 ? undefined : found
  const tables = manifest
    ? manifest.tables.flatMap(({ number }) => tableFileIn(names, number) ?? [])
    : names.filter((name) => tablePattern.test(name))
  for (const name of tables) {
    await copyFile(join(from, name), join(to, name), constants.COPYFILE_FICLONE)
    if (!(await invalidateDamagedBlocks(join(to, name)))) await rm(join(to, name))
  }
  for (const [name, bytes] of (await checkLogs(from, names, manifest)).wholeBytes)
    await writeFile(join(to, name), (await readFile(join(from, name))).subarray(0, bytes))
}

/** Marks damaged blocks so that LevelDB's repair skips them. False if no block can be found. */
async function invalidateDamagedBlocks(table: string): Promise<boolean> {
  const file = await open(table, 'r+')
  try {
    for (const block of await damagedBlocks(file, 'whole')) await invalidateBlock(file, block)
    return true
  } catch (error) {
    if (error instanceof InvalidBytes) return false
    throw error
  } finally {
    await file.close()
  }
}

/**
 * Copies row by row into another database. It reads with a scan, which returns the newest version of each row. `get`
 * does not, after LevelDB's repair: it prefers the file with the highest number, which may contain an older version.
 */
async function copyRows(copy: string, rows: StagedRows): Promise<RebuildResult> {
  const repaired = new Level<string, Uint8Array>(copy, { valueEncoding: 'view', createIfMissing: false })
  await repaired.open()
  try {
    const rebuilt = new RebuiltRows()
    const shapes = keysBelow('shape')
    for await (const [key, value] of repaired.iterator({ gt: shapes.after, lt: shapes.before }))
      rebuilt.addShape({ key, value })
    for await (const [key, value] of repaired.iterator())
      if (rebuilt.examine({ key, value })) await rows.put(key, value)
    const { added, ...found } = rebuilt.end()
    for (const { key, value } of added) await rows.put(key, value)
    await rows.end()
    return found
  } finally {
    await repaired.close()
  }
}

export interface RebuildResult {
  readonly rows: number
  /** The first four parts of the keys of rows that can't be unpacked, or whose shape is missing. */
  readonly leftOut: readonly string[]
  /** Gaps: events that are missing between existing ones. */
  readonly missing: readonly { readonly tenant: string; readonly from: number; readonly upTo: number }[]
}

/** A record of a tenant; see `actors/tenant/state.ts`. */
interface Counters {
  readonly lastFlakeAddress: number
  readonly devices: number
}

/** Facts found in the rows of one tenant. */
interface TenantFacts {
  redoFrom?: number
  firstChunk?: number
  /** The offset after the chunk that was read last. */
  next?: number
  lastOffset: number
  lastFlakeAddress: number
  devices: number
  counters?: Counters
}

/**
 * The number of offsets and flake addresses to skip, because missing rows may have assigned them. Two full logs of 16
 * MiB hold fewer.
 */
const skippedCount = 1_000_000
const uint32Max = 2 ** 32 - 1
/** The index of a field in the snapshot of a device; see `actors/device/snapshot.ts`. */
const flakeField = 0
const servicesField = 11
const countersFormat = { name: 'tenant counters', version: 1, upgrades: {} }

/**
 * Reads all rows of a repaired database in the order of their keys, shapes first. It decides which rows stay, and which
 * rows are added.
 */
export class RebuiltRows {
  readonly #stored = new Map<string, Uint8Array>()
  readonly #shapes = new Shapes((key) => this.#stored.get(key))
  readonly #tenants = new Map<string, TenantFacts>()
  readonly #leftOut: string[] = []
  readonly #missing: RebuildResult['missing'][number][] = []
  #rows = 0

  addShape({ key, value }: Row): void {
    this.#stored.set(key, value)
  }

  /** Collects the facts in a row. Returns whether the row stays. */
  examine(row: Row): boolean {
    try {
      const isKept = this.#examine(row)
      if (isKept) this.#rows++
      return isKept
    } catch {
      // Only the first parts of the key are shown: the rest may be the hash of a secret.
      this.#leftOut.push(row.key.split('/', 4).join('/'))
      return false
    }
  }

  end(): RebuildResult & { readonly added: readonly Row[] } {
    const added: Row[] = []
    for (const [tenant, facts] of this.#tenants) {
      const { redoFrom, firstChunk, counters, devices } = facts
      const wholeFrom = facts.lastOffset + 1 + skippedCount
      added.push({ key: keys.whole(tenant), value: packRecord(wholeFormat, wholeFrom) })
      // A tenant needs this row to have a stream. Applying all entries again is safe: each snapshot contains its
      // offset.
      if (redoFrom === undefined)
        added.push({ key: keys.redo(tenant), value: packRecord(redoFormat, firstChunk ?? wholeFrom) })
      if (devices === 0 && !counters) continue
      const lastFlake = Math.max(facts.lastFlakeAddress, counters?.lastFlakeAddress ?? 0)
      const counted = {
        lastFlakeAddress: Math.min(uint32Max, lastFlake + skippedCount),
        devices: counters?.devices ?? devices,
      }
      const address = { kind: 'tenant', tenant, id: tenant }
      added.push({ key: keys.part(address, 'counters'), value: packRecord(countersFormat, counted) })
    }
    return { rows: this.#rows + added.length, leftOut: this.#leftOut, missing: this.#missing, added }
  }

  /** @throws if the row can't be unpacked, or names a missing shape */
  #examine({ key, value }: Row): boolean {
    const [place, first = ''] = key.split('/', 2)
    switch (place) {
      case 'index':
        return true
      case 'stream':
        return this.#chunk(first, numberOf(key), value)
      case 'epoch':
        // Epochs are dropped, so no position of a client is known.
        for (const [tenant, head] of Object.entries(contentOf<{ heads: Record<string, number> }>(value).heads))
          this.#factsOf(tenant, head)
        return false
      case 'whole':
        this.#factsOf(first, contentOf<number>(value) - 1)
        return false
      case 'redo': {
        const redoFrom = contentOf<number>(value)
        this.#factsOf(first, redoFrom - 1).redoFrom = redoFrom
        return true
      }
      case 'actor':
        return this.#snapshot(key, value)
      case 'part': {
        const content = contentOf<Counters>(value)
        const { kind, tenant } = addressOf(key)
        if (kind !== 'tenant' || partNameOf(key) !== 'counters') return true
        this.#factsOf(tenant, 0).counters = content
        return false
      }
      default:
        contentOf(value)
        return true
    }
  }

  #chunk(tenant: string, from: number, value: Uint8Array): boolean {
    const { events } = unpackChunk(from, value, this.#shapes)
    const facts = this.#factsOf(tenant, from + events.length - 1)
    if (facts.next !== undefined && from > facts.next) this.#missing.push({ tenant, from: facts.next, upTo: from - 1 })
    facts.firstChunk ??= from
    facts.next = from + events.length
    return true
  }

  #snapshot(key: string, value: Uint8Array): boolean {
    const { kind, tenant } = addressOf(key)
    const { offset, state } = contentOf<{ offset: number; state: readonly unknown[] }>(value)
    const facts = this.#factsOf(tenant, offset)
    if (kind !== 'device') return true
    facts.devices++
    facts.lastFlakeAddress = Math.max(facts.lastFlakeAddress, state[flakeField] as number)
    for (const [shape] of state[servicesField] as readonly (readonly [string])[]) this.#shapes.byId(shape)
    return true
  }

  #factsOf(tenant: string, offset: number): TenantFacts {
    const facts: TenantFacts = this.#tenants.get(tenant) ?? { lastOffset: 0, lastFlakeAddress: 0, devices: 0 }
    this.#tenants.set(tenant, facts)
    facts.lastOffset = Math.max(facts.lastOffset, offset)
    return facts
  }
}

/** The content of a record. */
function contentOf<Content>(bytes: Uint8Array): Content {
  const record = unpack(bytes)
  if (!Array.isArray(record) || record.length !== 2) throw new TypeError('not a record')
  return record[1] as Content
}
