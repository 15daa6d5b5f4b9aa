import { type FileHandle, open, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { draftPattern } from '#store/level-files/begin'
import { BadBytes, ByteCursor } from '#store/level-files/byte-cursor'
import { bytesOf, filesIn, ofFile } from '#store/level-files/folder'
import { readLog } from '#store/level-files/log-file'
import { type Manifest, manifestOf, type NamedTable } from '#store/level-files/manifest'
import { damagedBlocks } from '#store/level-files/table-file'

/** What is wrong with a database, before LevelDB opens it: it says nothing of much of this, and may take it away. */
export interface Checked {
  /** Each a sentence that names the file. With any of them it must not be opened. */
  readonly damage: readonly string[]
  /** What an opening leaves out: the end of a log, behind which nothing was written. */
  readonly torn: readonly string[]
}

/**
 * `ends`: the whole log, the whole manifest, and of each table its foot, its index and its last rows: some milliseconds.
 * `whole`: every block of every table too.
 */
export type CheckDepth = 'ends' | 'whole'

/** @param database the folder of LevelDB itself. @throws errors of the file system, which name the file */
export async function checkDatabase(database: string, depth: CheckDepth): Promise<Checked> {
  const { names, odd } = await filesIn(database)
  const noFiles = odd.map((name) => `${name} is no file`)
  if (!names.includes('CURRENT')) return { damage: [...noFiles, ...headless([...names, ...odd])], torn: [] }
  const found = await readManifest(database, names)
  if (typeof found === 'string') return { damage: [...noFiles, found], torn: [] }
  const damage = [...noFiles, ...missingOf(names, found)]
  for (const table of found.tables) damage.push(...(await tableDamage(database, names, table, depth)))
  const logs = await checkLogs(database, names, found)
  return { damage: [...damage, ...logs.damage], torn: logs.torn }
}

/** LevelDB takes a folder without CURRENT for a new one, and deletes the tables it finds in it. */
function headless(names: readonly string[]): readonly string[] {
  // What a start leaves that died before it had made the first CURRENT.
  const first = ['LOCK', 'LOG', 'LOG.old', 'MANIFEST-000001', '000001.dbtmp']
  const isNew = names.every((name) => first.includes(name) || draftPattern.test(name))
  return isNew ? [] : ['CURRENT is not there, beside what belongs to a database']
}

/** What CURRENT leads to. */
export interface FoundManifest extends Manifest {
  readonly name: string
  /** Where it ends in the middle of a record. LevelDB takes that for its end, and so it is when a process died in it. */
  readonly tornAt: number | undefined
}

/** The manifest that counts; a text: why there is none. @param names of the files there. @throws errors of the file system */
export async function readManifest(database: string, names: readonly string[]): Promise<FoundManifest | string> {
  const current = (await bytesOf(database, 'CURRENT')).toString('latin1')
  const [, name] = /^(MANIFEST-\d+)\n$/.exec(current) ?? []
  if (name === undefined) return 'CURRENT names no manifest'
  if (!names.includes(name)) {
    const others = names.filter((other) => /^MANIFEST-\d+$/.test(other))
    return `${name} is not there, and CURRENT names it${others.length > 0 ? `; ${others.join(', ')} is there` : ''}`
  }
  try {
    const read = readLog(await bytesOf(database, name))
    const { records, tornAt, isCutOff, damagedAt = isCutOff ? undefined : tornAt } = read
    if (damagedAt !== undefined) return `${name} is damaged at byte ${damagedAt}`
    if (records.length === 0) return `${name} holds nothing whole`
    return { ...manifestOf(records), name, tornAt }
  } catch (error) {
    if (error instanceof BadBytes) return `${name} can't be read: ${error.message}`
    throw error
  }
}

/**
 * What a manifest names that is not there, and what speaks for it that the manifest lacks its end, and not the folder those
 * files: it would name others then. One that is cut off between two of its records is as whole as it was before the second.
 */
export function missingOf(names: readonly string[], manifest: FoundManifest): readonly string[] {
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
      ? [`${name} seems to lack its end: it does not speak of ${unnamed.join(', ')}`]
      : []),
    ...lost.map(({ number }) => `table ${number} is not there, and ${name} names it`),
    ...(isLogLost ? [`log ${logNumber} is not there, and ${name} names it`] : []),
  ]
}

export const tablePattern = /^\d+\.(ldb|sst)$/

function numberIn(name: string): number {
  return Number.parseInt(name, 10)
}

/** The file of a table, by the name it has; undefined when it is not there. */
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
    if (error instanceof BadBytes) return [`${name}: ${error.message}`]
    throw ofFile(name, error)
  } finally {
    await file?.close()
  }
}

/** Logs that an opening reads, in order. */
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

export interface CheckedLogs extends Checked {
  /** Of each log, in order, the bytes in front of the first fault of all. */
  readonly wholeBytes: ReadonlyMap<string, number>
}

/** @param manifest the one that counts; without it all logs are read */
export async function checkLogs(
  database: string,
  names: readonly string[],
  manifest: Omit<Manifest, 'tables'> = { logNumber: 0, previousLogNumber: 0, lastSequence: Number.POSITIVE_INFINITY },
): Promise<CheckedLogs> {
  const damage: string[] = []
  const torn: string[] = []
  const wholeBytes = new Map<string, number>()
  let next: number | undefined
  for (const name of logsToRead(names, manifest)) {
    const bytes = await bytesOf(database, name)
    const { records, ends, tornAt, damagedAt } = readLog(bytes)
    wholeBytes.set(name, 0)
    for (const [place, record] of records.entries()) {
      // The number of its first operation; the others have the next ones.
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
