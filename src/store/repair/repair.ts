import { link, mkdir, readdir, rename, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Operation, Storage } from '#runtime/storage'
import { BackupRefused } from '#store/backup/refused'
import { failureFrom } from '#store/failure'
import { levelPlace, repairingFolder } from '#store/level'
import { checkDatabase } from '#store/level-files/check'
import { filesIn } from '#store/level-files/folder'
import { goneText, isGone } from '#store/level-files/gone'
import { type ImageFault, NamedImages } from '#store/repair/images'
import { type GivenUp, type MendedStream, Mender } from '#store/repair/mend'
import { type Loss, Salvage } from '#store/repair/salvage'
import { syncFolder } from '#store/sync-folder'

export interface Repaired {
  /** What was found before, a sentence each; empty: nothing was wrong, and nothing was done. */
  readonly damage: readonly string[]
  readonly losses: readonly Loss[]
  readonly givenUp: GivenUp
  readonly streams: readonly MendedStream[]
  readonly rows: number
  /** Images whose file is not there, or holds other bytes than it is named by. */
  readonly images: readonly ImageFault[]
  /** Where the damaged database lies now, beside the mended one. */
  readonly keptIn: string | undefined
}

export interface RepairOptions {
  readonly folder: string
  /** Of now, for the name of what is kept. */
  readonly name: string
  /** Also where nothing seems wrong. */
  readonly isForced: boolean
}

const batchBytes = 1024 * 1024

/**
 * Makes a database of what is whole in a damaged one, and keeps that one.
 *
 * Obligations
 * - Of what is there nothing is changed before the new one is written and synced; then the two change places.
 * - Meanwhile the folder holds `repairing`, and no server opens it. One that runs on it has its lock, and nothing is done.
 * - No position that any client knows is recovered from the new one, no offset and no address of a device is given again.
 *
 * @throws BackupRefused, StorageFailure
 */
export async function repairFolder({ folder, name, isForced }: RepairOptions): Promise<Repaired> {
  const staging = join(folder, repairingFolder)
  try {
    const names = await readdir(folder)
    // The last one died between its two last steps.
    if (names.includes(repairingFolder) && !names.includes('db')) await takePlace(folder, staging)
    else if (names.includes(repairingFolder)) await rm(staging, { recursive: true, force: true })
    else if (!names.includes('db')) throw new BackupRefused(`${folder} holds no database: set DATA_DIR`)
    const database = join(folder, 'db')
    if (await isGone(folder)) throw new BackupRefused(`${goneText(folder)}; there is nothing to mend`)
    const { damage } = await checkDatabase(database, 'whole')
    const named = new NamedImages()
    if (damage.length === 0 && !isForced) {
      for await (const row of new Salvage(database).rows()) named.look(row)
      return { ...nothing, images: await named.faultsIn(folder) }
    }
    await mkdir(join(staging, 'db'), { recursive: true, mode: 0o700 })
    const made = await make(database, staging, named).catch(async (error) => {
      await rm(staging, { recursive: true, force: true })
      throw error
    })
    const kept = `damaged-${name}`
    await rename(database, join(folder, kept))
    await takePlace(folder, staging)
    return { damage, ...made, images: await named.faultsIn(folder), keptIn: kept }
  } catch (error) {
    if (error instanceof BackupRefused) throw error
    throw failureFrom(error, folder)
  }
}

const nothing = {
  damage: [],
  losses: [],
  givenUp: { devices: [], chunks: 0 },
  streams: [],
  rows: 0,
  keptIn: undefined,
} as const

async function make(
  database: string,
  staging: string,
  named: NamedImages,
): Promise<Pick<Repaired, 'losses' | 'givenUp' | 'streams' | 'rows'>> {
  // A lock belongs to a file and not to its name: who opens the new one while a server has the old one is refused.
  if ((await filesIn(database)).names.includes('LOCK')) await link(join(database, 'LOCK'), join(staging, 'db', 'LOCK'))
  const storage = await levelPlace({ folder: staging, headroomBytes: 0 }).open()
  try {
    const salvage = new Salvage(database)
    const mender = new Mender()
    // Twice: chunks and snapshots lie before the shapes that they name.
    for await (const { key } of new Salvage(database).rows()) if (key.startsWith('shape/')) mender.knowShape(key)
    const writer = new Batches(storage)
    for await (const row of salvage.rows()) {
      named.look(row)
      if (mender.look(row)) await writer.put(row.key, row.value)
    }
    for (const loss of salvage.losses) mender.lost(loss)
    const { rows, streams, givenUp } = mender.end()
    for (const { key, value } of rows) await writer.put(key, value)
    await writer.end()
    return { losses: salvage.losses, givenUp, streams, rows: writer.count }
  } finally {
    await storage.close()
  }
}

/** The staged database gets its name. */
async function takePlace(folder: string, staging: string): Promise<void> {
  await syncFolder(join(staging, 'db'))
  await rename(join(staging, 'db'), join(folder, 'db'))
  await syncFolder(folder)
  await rmdir(staging)
  await syncFolder(folder)
}

class Batches {
  readonly #storage: Storage
  #batch: Operation[] = []
  #bytes = 0
  count = 0

  constructor(storage: Storage) {
    this.#storage = storage
  }

  async put(key: string, value: Uint8Array): Promise<void> {
    this.count++
    this.#batch.push({ key, value })
    this.#bytes += key.length + value.byteLength
    if (this.#bytes >= batchBytes) await this.#write(false)
  }

  /** All of it is on the disk: what was written before the log of now is in tables, which LevelDB syncs. */
  async end(): Promise<void> {
    await this.#write(true)
  }

  async #write(sync: boolean): Promise<void> {
    const batch = this.#batch
    this.#batch = []
    this.#bytes = 0
    await this.#storage.write(batch, { sync })
  }
}
