import { type FileHandle, open, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ByteCursor, InvalidBytes } from '#store/level-files/byte-cursor'
import { bytesOf, filesIn, ofFile } from '#store/level-files/folder'
import { readLog } from '#store/level-files/log-file'
import { draftPattern, type Manifest, manifestOf, type NamedTable } from '#store/level-files/manifest'
import { damagedBlocks } from '#store/level-files/table-file'

/**
 * The damage of a database, found before LevelDB opens it: LevelDB does not report much of it, and may delete files.
 */
export interface DatabaseCheck {
  /** Each is a sentence that names the file. If there is any, the database must not be opened. */
  readonly damage: readonly string[]
  /** Logs that end in the middle of a write. Opening the database drops that write. */
  readonly torn: readonly string[]
}

/**
 * `ends`, for each opening: all logs, the whole manifest, and the footer, the filters and the last block of rows of
 * each table. `whole`: every block of every table too.
 */
export type CheckDepth = 'ends' | 'whole'

/** @param database the folder of LevelDB itself. @throws errors of the file system, which name the file */
export async function checkDatabase(database: string, depth: CheckDepth): Promise<DatabaseCheck> {
  const { names, notFiles } = await filesIn(database)
  const noFiles = notFiles.map((name) => `${name} is not a file`)
  if (!names.includes('CURRENT')) return { damage: [...noFiles, ...missingCurrent([...names, ...notFiles])], torn: [] }
  const found = await readManifest(database, names)
  if (typeof found === 'string') return { damage: [...noFiles, found], torn: [] }
  const damage = [...noFiles, ...missingFiles(names, found)]
  for (const table of found.tables) damage.push(...(await tableDamage(database, names, table, depth)))
  const logs = await checkLogs(database, names, found)
  return { damage: [...damage, ...logs.damage], torn: logs.torn }
}

/** LevelDB takes a folder without CURRENT for a new one, and deletes the tables it finds in it. */
function missingCurrent(names: readonly string[]): readonly string[] {
  // The files of a server that was killed before it had created the first CURRENT.
  const first = ['LOCK', 'LOG', 'LOG.old', 'MANIFEST-000001', '000001.dbtmp']
  const isNew = names.every((name) => first.includes(name) || draftPattern.test(name))
  return isNew ? [] : ['CURRENT is missing, but the folder holds files of a database']
}

/** The manifest that CURRENT names. */
export interface CurrentManifest extends Manifest {
  readonly name: string
  /**
   * The start of an incomplete record at the end. LevelDB ignores that record, which is right if a process died during
   * the write.
   */
  readonly tornAt: number | undefined
}

/**
 * The current manifest, or a sentence that says why it can't be read. @param names of the files in the folder. @throws
 * errors of the file system
 */
export async function readManifest(database: string, names: readonly string[]): Promise<CurrentManifest | string> {
  const current = (await bytesOf(database, 'CURRENT')).toString('latin1')
  const [, name] = /^(MANIFEST-\d+)\n$/.exec(current) ?? []
  if (name === undefined) return 'CURRENT does not name a manifest'
  if (!names.includes(name)) {
    const others = names.filter((other) => /^MANIFEST-\d+$/.test(other))
    return `${name} is not there, and CURRENT names it${others.length > 0 ? `; ${others.join(', ')} is there` : ''}`
  }
  try {
    const read = readLog(await bytesOf(database, name))
    const { records, tornAt, isCutOff, damagedAt = isCutOff ? undefined : tornAt } = read
    if (damagedAt !== undefined) return `${name} is damaged at byte ${damagedAt}`
    if (records.length === 0) return `${name} holds no valid record`
    return { ...manifestOf(records), name, tornAt }
  } catch (error) {
    if (error instanceof InvalidBytes) return `${name} can't be read: ${error.message}`
    throw error
  }
}

/**
 * Describes files that are missing although the manifest names them. If there are also files that it does not name, the
 * end of the manifest itself may be lost: a manifest that is cut off between two records looks valid.
 */
export function missingFiles(names: readonly string[], manifest: CurrentManifest): readonly string[] {
  const { name, tables, logNumber, tornAt } = manifest
  const lost = tables.filter(({ number }) => tableFileIn(names, number) === undefined)
  const isLogLost = logNumber !== 0 && !names.some((each) => /^\d+\.log$/.test(each) && numberIn(each) === logNumber)
  if (lost.length === 0 && !isLogLost) return []
  const known = new Set(tables.map(({ number }) => number))
  const unnamed = names.filter((each) =>
    tablePattern.test(each) ? !known.has(numberIn(each)) : /^\d+\.log$/.test(each) && numberIn(each) > logNumber,
  )
  return [
    ...(tornAt === undefined ? [] : [`${name} ends in the middle of a record, at byte ${tornAt}`]),
    ...(tornAt === undefined && unnamed.length > 0
      ? [`${name} seems to lack its end: it does not name ${unnamed.join(', ')}`]
      : []),
    ...lost.map(({ number }) => `table ${number} is not there, and ${name} names it`),
    ...(isLogLost ? [`log ${logNumber} is not there, and ${name} names it`] : []),
  ]
}

export const tablePattern = /^\d+\.(ldb|sst)$/

function numberIn(name: string): number {
  return Number.parseInt(name, 10)
}

/** The name of a table's file; undefined if it is missing. */
export function tableFileIn(names: readonly string[], number: number): string | undefined {
  const digits = String(number).padStart(6, '0')
  return [`${digits}.ldb`, `${digits}.sst`].find((name) => names.includes(name))
}

async function tableDamage(
  database: string,
  names: readonly string[],
  { number, bytes }: NamedTable,
  depth: CheckDepth,
): Promise<readonly string[]> {
  const name = tableFileIn(names, number)
  if (name === undefined) return []
  const path = join(database, name)
  const { size } = await stat(path)
  if (size !== bytes) return [`${name} has ${size} bytes, and was written with ${bytes}`]
  let file: FileHandle | undefined
  try {
    file = await open(path, 'r')
    const [first, ...others] = await damagedBlocks(file, depth)
    if (!first) return []
    const more = others.length > 0 ? `, and ${others.length} more of its blocks` : ''
    return [`${name}: its block at byte ${first.at} is damaged${more}`]
  } catch (error) {
    if (error instanceof InvalidBytes) return [`${name}: ${error.message}`]
    throw ofFile(name, error)
  } finally {
    await file?.close()
  }
}

/** Logs that LevelDB reads when it opens the database, in order. */
function logsToRead(
  names: readonly string[],
  { logNumber, previousLogNumber }: Pick<Manifest, 'logNumber' | 'previousLogNumber'>,
): readonly string[] {
  return names
    .filter((name) => /^\d+\.log$/.test(name))
    .filter((name) => {
      const number = numberIn(name)
      return number >= logNumber || (previousLogNumber !== 0 && number === previousLogNumber)
    })
    .sort((a, b) => numberIn(a) - numberIn(b))
}

export interface LogCheck extends DatabaseCheck {
  /** For each log, in order, the number of its bytes before the first fault; 0 for the logs after a fault. */
  readonly wholeBytes: ReadonlyMap<string, number>
}

/** @param manifest the current one; without it all logs are read */
export async function checkLogs(
  database: string,
  names: readonly string[],
  manifest: Omit<Manifest, 'tables'> = { logNumber: 0, previousLogNumber: 0, lastSequence: Number.POSITIVE_INFINITY },
): Promise<LogCheck> {
  const damage: string[] = []
  const torn: string[] = []
  const wholeBytes = new Map<string, number>()
  let next: number | undefined
  for (const name of logsToRead(names, manifest)) {
    const bytes = await bytesOf(database, name)
    const { records, ends, tornAt, damagedAt } = readLog(bytes)
    wholeBytes.set(name, 0)
    for (const [place, record] of records.entries()) {
      // The sequence number of the record's first operation; its other operations have the next numbers.
      const cursor = new ByteCursor(record)
      const [sequence, count] = [cursor.uint64(), cursor.uint32()]
      if (next === undefined ? sequence > manifest.lastSequence + 1 : sequence !== next)
        damage.push(`${name} lacks the writes from ${next ?? manifest.lastSequence + 1} to ${sequence - 1}`)
      next = sequence + count
      if (damage.length === 0) wholeBytes.set(name, ends[place] ?? 0)
    }
    if (damagedAt !== undefined) damage.push(`${name} is damaged at byte ${damagedAt} of ${bytes.length}`)
    if (tornAt !== undefined) torn.push(`${name} ends in the middle of a write: ${bytes.length - tornAt} bytes`)
  }
  return { damage, torn, wholeBytes }
}
