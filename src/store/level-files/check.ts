import { type FileHandle, open, readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { draftPattern } from '#store/level-files/begin'
import { BadBytes } from '#store/level-files/byte-cursor'
import { readLog } from '#store/level-files/log-file'
import { type Manifest, manifestOf, type NamedTable } from '#store/level-files/manifest'
import { rowsOf, tableIndex } from '#store/level-files/table-file'
import { batchOf } from '#store/level-files/write-batch'
import { isMissing } from '#store/missing'

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

/** @param database the folder of LevelDB itself. @throws errors of the file system */
export async function checkDatabase(database: string, depth: CheckDepth): Promise<Checked> {
  const names = await namesIn(database)
  if (!names.includes('CURRENT')) return { damage: headless(names), torn: [] }
  const found = await readManifest(database)
  if (typeof found === 'string') return { damage: [found], torn: [] }
  const damage: string[] = []
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

/** The manifest that counts; a text: why there is none. */
export async function readManifest(database: string): Promise<Manifest | string> {
  const current = await readFile(join(database, 'CURRENT'), 'latin1')
  const [, name] = /^(MANIFEST-\d+)\n$/.exec(current) ?? []
  if (name === undefined) return 'CURRENT names no manifest'
  try {
    const {
      records,
      tornAt,
      isCutOff,
      damagedAt = isCutOff ? undefined : tornAt,
    } = readLog(await readFile(join(database, name)))
    if (damagedAt !== undefined) return `${name} is damaged at byte ${damagedAt}`
    if (records.length === 0) return `${name} holds nothing whole`
    return manifestOf(records)
  } catch (error) {
    if (isMissing(error)) return `${name} is not there, and CURRENT names it`
    if (error instanceof BadBytes) return `${name} can't be read: ${error.message}`
    throw error
  }
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
  if (name === undefined) return [`table ${number} is not there, and the manifest names it`]
  const path = join(database, name)
  const { size } = await stat(path)
  if (size !== bytes) return [`${name} has ${size} bytes, and was written with ${bytes}`]
  let file: FileHandle | undefined
  try {
    file = await open(path, 'r')
    const blocks = await tableIndex(file)
    for (const block of depth === 'whole' ? blocks : blocks.slice(-1)) await rowsOf(file, block)
    return []
  } catch (error) {
    if (error instanceof BadBytes) return [`${name}: ${error.message}`]
    throw error
  } finally {
    await file?.close()
  }
}

/** Logs that an opening reads, in order. */
export function logsToRead(
  names: readonly string[],
  { logNumber, previousLogNumber }: Pick<Manifest, 'logNumber' | 'previousLogNumber'>,
): readonly string[] {
  return names
    .filter((name) => /^\d+\.log$/.test(name))
    .filter((name) => {
      const number = Number.parseInt(name, 10)
      return number >= logNumber || (previousLogNumber !== 0 && number === previousLogNumber)
    })
    .sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10))
}

async function checkLogs(database: string, names: readonly string[], manifest: Manifest): Promise<Checked> {
  const { logNumber, lastSequence } = manifest
  const damage: string[] = []
  const torn: string[] = []
  const logs = logsToRead(names, manifest)
  if (logNumber !== 0 && !logs.some((name) => Number.parseInt(name, 10) === logNumber))
    damage.push(`log ${logNumber} is not there, and the manifest names it`)
  let next: number | undefined
  for (const name of logs) {
    const bytes = await readFile(join(database, name))
    const { records, tornAt, damagedAt } = readLog(bytes)
    for (const record of records) {
      const { sequence, count } = batchOf(record)
      if (next === undefined ? sequence > lastSequence + 1 : sequence !== next)
        damage.push(`${name} lacks the writes from ${next ?? lastSequence + 1} to ${sequence - 1}`)
      next = sequence + count
    }
    if (damagedAt !== undefined) damage.push(`${name} is damaged at byte ${damagedAt} of ${bytes.length}`)
    if (tornAt !== undefined) torn.push(`${name} ends in the middle of a write: ${bytes.length - tornAt} bytes`)
  }
  return { damage, torn }
}

async function namesIn(database: string): Promise<readonly string[]> {
  try {
    return await readdir(database)
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}
