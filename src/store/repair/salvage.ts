import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Row } from '#runtime/storage'
import { headOf } from '#store/chunk'
import { BadBytes } from '#store/level-files/byte-cursor'
import { logsToRead, missingOf, missingTables, readManifest, tableFileIn } from '#store/level-files/check'
import { bytesOf, filesIn } from '#store/level-files/folder'
import { piecesBehind, readLog } from '#store/level-files/log-file'
import type { Manifest, NamedTable } from '#store/level-files/manifest'
import {
  behindBlock,
  type IndexedBlock,
  rowsOf,
  type ScannedBlock,
  scannedBlocks,
  type TableRow,
  tableIndex,
} from '#store/level-files/table-file'
import { batchOf, type LoggedOperation, operationsOf } from '#store/level-files/write-batch'

/** What could not be read. */
export interface Loss {
  /** The file, and what is the matter with it. */
  readonly said: string
  /** Rows from `from` on, or behind `after`, up to `upTo`, in the state that this file had of them; without: of any key. */
  readonly from?: string
  readonly after?: string
  readonly upTo?: string
  /** Rows that were written behind the place from which on nothing can be trusted, as far as they can be read. */
  readonly behind?: readonly LostRow[]
}

export interface LostRow {
  readonly key: string
  /** In a chunk of a stream. */
  readonly entries?: number
}

/**
 * All rows of a damaged database that are whole, in the order of their keys, each in its newest state that is. What it could
 * not read is in `losses` when they were all taken.
 *
 * The database is read file by file, and nothing of it is changed. A log counts up to its first fault and no further, and the
 * logs behind it not at all: what was written later may build on what is missing.
 */
export class Salvage {
  readonly losses: Loss[] = []
  readonly #database: string

  constructor(database: string) {
    this.#database = database
  }

  async *rows(): AsyncGenerator<Row> {
    const { names } = await filesIn(this.#database)
    const found = names.includes('CURRENT') ? await readManifest(this.#database, names) : 'CURRENT is not there'
    // One that names what is not there may lack its end, and with it the names of files that are there.
    const wrong = typeof found === 'string' ? [found] : missingOf(names, found)
    const manifest = typeof found === 'string' || wrong.length > 0 ? undefined : found
    if (wrong.length > 0) {
      const said = `${wrong.join('; ')}: every file was read, and what was deleted shortly before may be there again`
      this.losses.push({ said })
    }
    const spoken = new Map(typeof found === 'string' ? [] : found.tables.map((table) => [table.number, table]))
    // A table that another one took the place of may be among them: what it held is there then, and lost at most.
    for (const { number, from, upTo } of typeof found === 'string' ? [] : missingTables(names, found))
      this.losses.push({ said: `table ${number} is not there`, from, upTo })
    const cursors: Cursor[] = [new LoggedRows(await this.#logged(names, manifest))]
    const files: FileHandle[] = []
    try {
      for (const name of this.#tables(names, manifest)) {
        const file = await open(join(this.#database, name), 'r')
        files.push(file)
        const named = spoken.get(Number.parseInt(name, 10))
        cursors.push(
          new TableRows({ name, file, named, losses: this.losses, ...(await this.#blocks(name, file, named)) }),
        )
      }
      yield* merged(cursors)
    } finally {
      for (const file of files) await file.close()
    }
  }

  #tables(names: readonly string[], manifest: Manifest | undefined): readonly string[] {
    if (!manifest) return names.filter((name) => /^\d+\.(ldb|sst)$/.test(name))
    return manifest.tables.flatMap(({ number }) => tableFileIn(names, number) ?? [])
  }

  /** @param named what the manifest says of it */
  async #blocks(
    name: string,
    file: FileHandle,
    named: NamedTable | undefined,
  ): Promise<{ readonly blocks: readonly IndexedBlock[]; readonly isSaid: boolean }> {
    try {
      const blocks = await tableIndex(file)
      const isOther = named !== undefined && (await file.stat()).size !== named.bytes
      if (isOther) this.losses.push(otherTable(name, named))
      return { blocks, isSaid: isOther }
    } catch (error) {
      if (!(error instanceof BadBytes)) throw error
      const said = `${name}: ${error.message}; its blocks were looked for one by one`
      const [first, last] = named ? [Buffer.from(named.from), Buffer.from(named.upTo)] : []
      const isOurs = (from: Buffer, upTo: Buffer) =>
        (!first || Buffer.compare(first, from) <= 0) && (!last || Buffer.compare(upTo, last) <= 0)
      const blocks = await scannedBlocks(file, isOurs)
      for (const range of rangesBetween(blocks, named)) this.losses.push({ said, ...range })
      // How far it went nobody knows.
      if (!named) this.losses.push({ said })
      return { blocks, isSaid: true }
    }
  }

  /** Newest first, where a key was written several times. */
  async #logged(
    names: readonly string[],
    manifest: Manifest | undefined,
  ): Promise<ReadonlyMap<string, LoggedOperation>> {
    const logs = logsToRead(names, manifest ?? { logNumber: 0, previousLogNumber: 0 })
    const rows = new Map<string, LoggedOperation>()
    let next: number | undefined
    let isOver = false
    for (const name of logs) {
      const bytes = await bytesOf(this.#database, name)
      const { records, tornAt, damagedAt } = readLog(bytes)
      const lost: Uint8Array[] = []
      for (const record of records) {
        const { sequence, count } = batchOf(record)
        if (next !== undefined && sequence !== next && !isOver) {
          this.losses.push({ said: `${name} lacks the writes from ${next} to ${sequence - 1}` })
          isOver = true
        }
        next = sequence + count
        if (isOver) lost.push(record)
        else for (const operation of operationsOf(record)) rows.set(operation.key.toString(), operation)
      }
      if (damagedAt !== undefined) lost.push(...piecesBehind(bytes, damagedAt))
      const at = damagedAt ?? tornAt
      if (at === undefined && lost.length === 0) continue
      const said =
        at === undefined
          ? `${name} is behind what is missing`
          : `${name} can't be read from byte ${at} of ${bytes.length} on`
      this.losses.push({ said, behind: lost.flatMap(rowsIn) })
      isOver = true
    }
    return rows
  }
}

/** Where no block was found though one lay there: between others, and at the ends as far as it is known what these were. */
function rangesBetween(blocks: readonly ScannedBlock[], named: NamedTable | undefined): readonly Omit<Loss, 'said'>[] {
  const ranges: Omit<Loss, 'said'>[] = []
  let before: ScannedBlock | undefined
  const begin = () => (before ? { after: before.upTo.toString() } : named ? { from: named.from } : { after: '' })
  for (const block of blocks) {
    const end = before ? before.at + before.bytes + behindBlock : 0
    if (block.at > end) ranges.push({ ...begin(), upTo: block.from.toString() })
    before = block
  }
  if (named && before?.upTo.toString() !== named.upTo) ranges.push({ ...begin(), upTo: named.upTo })
  return ranges
}

/** Of a chunk's key, also where LevelDB shortened one that only has to lie between two others: up to a digit more than `9`. */
export function offsetIn(key: string): number | undefined {
  const digits = /^stream\/[^/]+\/([0-9a-f]{0,13}[0-9a-f:])$/.exec(key)?.[1]
  return digits === undefined ? undefined : Number.parseInt(digits.replace(':', 'a').padEnd(14, '0'), 16)
}

function rowsIn(record: Uint8Array): readonly LostRow[] {
  const rows: LostRow[] = []
  try {
    for (const { key, value } of operationsOf(record)) {
      const isChunk = value !== null && key.toString().startsWith('stream/')
      rows.push({ key: key.toString(), ...(isChunk && { entries: headOf(value).count }) })
    }
  } catch (error) {
    if (!(error instanceof BadBytes)) throw error
  }
  return rows
}

/** Rows in the order of their keys; of one key the newest first. */
interface Cursor {
  readonly row: TableRow | undefined
  /** To be called before the first row is looked at, too. */
  next(): Promise<void>
}

class LoggedRows implements Cursor {
  readonly #rows: Iterator<LoggedOperation>
  row: TableRow | undefined

  constructor(rows: ReadonlyMap<string, LoggedOperation>) {
    this.#rows = [...rows.values()].sort((a, b) => Buffer.compare(a.key, b.key)).values()
  }

  async next(): Promise<void> {
    const { done, value } = this.#rows.next()
    this.row = done ? undefined : value
  }
}

function otherTable(name: string, { from, upTo }: NamedTable): Loss {
  return { said: `${name} holds another table`, from, upTo }
}

interface TableRowsOptions {
  readonly name: string
  readonly file: FileHandle
  readonly blocks: readonly IndexedBlock[]
  /** What is missing beside the blocks is said already. */
  readonly isSaid: boolean
  /** What the manifest says of it. */
  readonly named: NamedTable | undefined
  readonly losses: Loss[]
}

class TableRows implements Cursor {
  readonly #options: TableRowsOptions
  #nextBlock = 0
  #rows: readonly TableRow[] = []
  #place = 0
  #before: Buffer | undefined
  row: TableRow | undefined

  constructor(options: TableRowsOptions) {
    this.#options = options
  }

  async next(): Promise<void> {
    const { blocks } = this.#options
    while (this.#place === this.#rows.length) {
      const block = blocks[this.#nextBlock++]
      if (!block) {
        this.row = undefined
        return
      }
      const isFirst = this.#nextBlock === 1
      const isLast = this.#nextBlock === blocks.length
      this.#rows = await this.#read(block, isFirst, isLast)
      this.#place = 0
      this.#before = block.upTo
    }
    this.row = this.#rows[this.#place++]
  }

  async #read(block: IndexedBlock, isFirst: boolean, isLast: boolean): Promise<readonly TableRow[]> {
    const { name, file, named, isSaid, losses } = this.#options
    try {
      const rows = await rowsOf(file, block)
      const isOther =
        named !== undefined &&
        ((isFirst && rows[0]?.key.toString() !== named.from) || (isLast && rows.at(-1)?.key.toString() !== named.upTo))
      if (isOther && !isSaid) losses.push(otherTable(name, named))
      return rows
    } catch (error) {
      if (!(error instanceof BadBytes)) throw error
      const said = `${name}: ${error.message}`
      const begin = isFirst && named ? { from: named.from } : { after: this.#before?.toString() ?? '' }
      // The index has of the last one only a short key behind all of it.
      losses.push({ said, ...begin, upTo: isLast && named ? named.upTo : block.upTo.toString() })
      return []
    }
  }
}

async function* merged(cursors: readonly Cursor[]): AsyncGenerator<Row> {
  for (const cursor of cursors) await cursor.next()
  for (;;) {
    let newest: TableRow | undefined
    for (const { row } of cursors) {
      if (!row) continue
      const order = newest ? Buffer.compare(row.key, newest.key) : -1
      if (order < 0 || (order === 0 && row.sequence > (newest as TableRow).sequence)) newest = row
    }
    if (!newest) return
    const { key, value } = newest
    for (const cursor of cursors) while (cursor.row && Buffer.compare(cursor.row.key, key) === 0) await cursor.next()
    if (value) yield { key: key.toString(), value }
  }
}
