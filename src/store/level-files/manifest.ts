import { link, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { syncFolder } from '#store/file-system'
import { ByteCursor, InvalidBytes } from '#store/level-files/byte-cursor'
import { logOf } from '#store/level-files/log-file'

export interface NamedTable {
  readonly number: number
  readonly bytes: number
}

/** The result of reading a manifest: the files of the database. */
export interface Manifest {
  /** Logs from this number on are read at the next opening. */
  readonly logNumber: number
  /** This log is read too, unless it is 0. */
  readonly previousLogNumber: number
  readonly lastSequence: number
  readonly tables: readonly NamedTable[]
}

const tags = {
  comparator: 1,
  logNumber: 2,
  nextFileNumber: 3,
  lastSequence: 4,
  compactPointer: 5,
  deletedFile: 6,
  newFile: 7,
  previousLogNumber: 9,
} as const

/** Reads a manifest from its records. @throws InvalidBytes */
export function manifestOf(records: readonly Uint8Array[]): Manifest {
  const tables = new Map<number, NamedTable>()
  const found = { logNumber: Number.NaN, previousLogNumber: 0, lastSequence: Number.NaN }
  for (const record of records) {
    for (const cursor = new ByteCursor(record); cursor.left > 0; ) apply(cursor, tables, found)
  }
  if (Number.isNaN(found.logNumber) || Number.isNaN(found.lastSequence)) throw new InvalidBytes('it ends too soon')
  return { ...found, tables: [...tables.values()] }
}

/** The one record in the manifest of a new database: no table, no log, and file numbers from 2 on are free. */
function firstManifest(): Uint8Array {
  const comparator = Buffer.from('leveldb.BytewiseComparator')
  return Buffer.concat([
    Buffer.of(tags.comparator, comparator.length),
    comparator,
    Buffer.of(tags.logNumber, 0, tags.nextFileNumber, 2, tags.lastSequence, 0),
  ])
}

function apply(
  cursor: ByteCursor,
  tables: Map<number, NamedTable>,
  found: { -readonly [K in keyof Omit<Manifest, 'tables'>]: Manifest[K] },
): void {
  const tag = cursor.varint()
  switch (tag) {
    case tags.comparator:
      cursor.sized()
      break
    case tags.logNumber:
      found.logNumber = cursor.varint()
      break
    case tags.previousLogNumber:
      found.previousLogNumber = cursor.varint()
      break
    case tags.nextFileNumber:
      cursor.varint()
      break
    case tags.lastSequence:
      found.lastSequence = cursor.varint()
      break
    case tags.compactPointer:
      cursor.varint()
      cursor.sized()
      break
    case tags.deletedFile:
      cursor.varint()
      tables.delete(cursor.varint())
      break
    case tags.newFile: {
      cursor.varint()
      const number = cursor.varint()
      const bytes = cursor.varint()
      tables.set(number, { number, bytes })
      // The smallest and the largest key of the table.
      cursor.sized()
      cursor.sized()
      break
    }
    default:
      throw new InvalidBytes(`an edit of kind ${tag}`)
  }
}

/** Matches the name of a folder that remains when the creation of a database was interrupted. */
export const draftPattern = /^first-\w{6}$/

/** Error codes of file systems without hard links. LevelDB creates the database itself there. */
const noLinkCodes = ['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK']

/** Options of `writeFile`: the promise is fulfilled when the content is synced. */
const synced = { mode: 0o600, flush: true }

/**
 * Creates the files that LevelDB would create first in a folder without a database. LevelDB names its first manifest in
 * CURRENT without a sync: after a power loss, CURRENT may name an empty manifest.
 *
 * @param database the folder of LevelDB itself; it has no database yet, or another process begins one at the same time
 * @throws errors of the file system
 */
export async function createDatabase(database: string): Promise<void> {
  await mkdir(database, { recursive: true, mode: 0o700 })
  if ((await readdir(database)).includes('CURRENT')) return
  const drafts = await mkdtemp(join(database, 'first-'))
  const draft = join(drafts, 'draft')
  const manifest = 'MANIFEST-000001'
  try {
    await writeFile(draft, logOf(firstManifest()), synced)
    await rename(draft, join(database, manifest))
    await writeFile(draft, `${manifest}\n`, synced)
    // A link and not a rename: another process may have created CURRENT by now, and it may name a later manifest.
    await link(draft, join(database, 'CURRENT'))
    await syncFolder(database)
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (code !== 'EEXIST' && !noLinkCodes.includes(code)) throw error
  } finally {
    await rm(drafts, { recursive: true, force: true })
  }
}
