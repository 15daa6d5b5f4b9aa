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
        cursors.push(new TableRows(name, file, await this.#blocks(name, file, named), this.losses, named?.from))
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
  async #blocks(name: string, file: FileHandle, named: NamedTable | undefined): Promise<readonly IndexedBlock[]> {
    try {
      return await tableIndex(file)
    } catch (error) {
      if (!(error instanceof BadBytes)) throw error
      this.losses.push({ said: `${name}: ${error.message}; its blocks were looked for one by one` })
      const blocks = await scannedBlocks(file)
      for (const range of rangesBetween(blocks, named)) this.losses.push({ said: `${name} is damaged there`, ...range })
      return blocks
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
function rangesBetween(blocks: readonly IndexedBlock[], named: NamedTable | undefined): readonly Omit<Loss, 'said'>[] {
  const ranges: Omit<Loss, 'said'>[] = []
  let before: IndexedBlock | undefined
  const begin = () => (before ? { after: before.upTo.toString() } : named ? { from: named.from } : { after: '' })
  for (const block of blocks) {
    const end = before ? before.at + before.bytes + behindBlock : 0
    if (block.at > end) ranges.push({ ...begin(), upTo: block.upTo.toString() })
    before = block
  }
  if (named && before?.upTo.toString() !== named.upTo) ranges.push({ ...begin(), upTo: named.upTo })
  return ranges
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

class TableRows implements Cursor {
  readonly #name: string
  readonly #file: FileHandle
  readonly #blocks: Iterator<IndexedBlock>
  readonly #losses: Loss[]
  /** The smallest key in it, where that is known. */
  readonly #from: string | undefined
  #rows: readonly TableRow[] = []
  #place = 0
  #before: Buffer | undefined
  row: TableRow | undefined

  constructor(
    name: string,
    file: FileHandle,
    blocks: readonly IndexedBlock[],
    losses: Loss[],
    from: string | undefined,
  ) {
    this.#name = name
    this.#file = file
    this.#blocks = blocks.values()
    this.#losses = losses
    this.#from = from
  }

  async next(): Promise<void> {
    while (this.#place === this.#rows.length) {
      const { done, value: block } = this.#blocks.next()
      if (done) {
        this.row = undefined
        return
      }
      this.#rows = await this.#read(block)
      this.#place = 0
      this.#before = block.upTo
    }
    this.row = this.#rows[this.#place++]
  }

  async #read(block: IndexedBlock): Promise<readonly TableRow[]> {
    try {
      return await rowsOf(this.#file, block)
    } catch (error) {
      if (!(error instanceof BadBytes)) throw error
      const said = `${this.#name}: ${error.message}`
      const isFirst = this.#before === undefined && this.#from !== undefined
      const begin = isFirst ? { from: this.#from as string } : { after: this.#before?.toString() ?? '' }
      this.#losses.push({ said, ...begin, upTo: block.upTo.toString() })
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
