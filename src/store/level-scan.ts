import type { Level } from 'level'
import type { Row, Scan, ScanRange, StorageFailure } from '#runtime/storage'
import { closedFailure, failureFrom } from '#store/failure'

/**
 * The number of rows in the first page. Until a scan is collected as garbage, it keeps memory for a whole page, 64
 * bytes a row, and the rows of its last page. V8 does not count that memory, and collects late. So pages begin small
 * and grow: most scans find few rows.
 */
const firstRows = 32
const growTimes = 4

/**
 * A page ends at the latest with the row after the one that reaches this size: copying 1 MiB holds the loop for less
 * than 1 ms.
 */
const pageBytes = 1024 * 1024

const noBytes = new Uint8Array(0)

/**
 * LevelDB skips a table that it cannot open and a block that it cannot read, and reports the error only when an
 * iterator is read to its end. So each page has its own iterator, on one snapshot, that ends where the page does.
 */
export class LevelScan implements Scan {
  readonly #database: Level<string, Uint8Array>
  readonly #folder: string
  readonly #range: ScanRange
  readonly #snapshot: ReturnType<Level<string, Uint8Array>['snapshot']>
  readonly pageReads: PageReads
  #page: Promise<unknown> | undefined
  #rowsMax = firstRows
  /** The key of the last row that was returned. */
  #last: string | undefined
  #isAtEnd = false
  #failure: StorageFailure | undefined

  constructor(database: Level<string, Uint8Array>, folder: string, range: ScanRange, scanning: PageReads) {
    this.#database = database
    this.#folder = folder
    this.#range = range
    this.pageReads = scanning
    this.#snapshot = database.snapshot()
  }

  async next(countMax: number): Promise<readonly Row[]> {
    if (this.#page !== undefined) throw new Error('only one call of next at a time')
    if (this.#failure) throw this.#failure
    if (this.pageReads.isOver) throw closedFailure(this.#folder)
    if (this.#isAtEnd) return []
    const page = this.pageReads.during(this.#read(Math.min(countMax, this.#rowsMax)))
    this.#page = page
    try {
      const entries = await page
      this.#rowsMax *= growTimes
      return entries.map(([key, value]) => ({ key, value: value ?? noBytes }))
    } catch (error) {
      this.#failure = failureFrom(error, this.#folder)
      throw this.#failure
    } finally {
      this.#page = undefined
    }
  }

  async #read(count: number): Promise<readonly Entry[]> {
    const { hasValues } = this.#range
    const { entries, isCut } = await this.#entries(count, hasValues)
    // If the size limit cut the page, its iterator did not reach its end, so it reported no errors. A second iterator,
    // limited to these rows, reaches its end.
    if (isCut && (await this.#entries(entries.length, false)).entries.length !== entries.length) {
      throw new Error('rows are missing that were there before')
    }
    this.#last = entries.at(-1)?.[0] ?? this.#last
    this.#isAtEnd = !isCut && entries.length < count
    return entries
  }

  /** Reads the next rows. Unless the size limit cuts the page (`isCut`), the iterator has reached its end. */
  async #entries(count: number, hasValues: boolean): Promise<{ readonly entries: Entry[]; readonly isCut: boolean }> {
    const { after, before, isReverse = false } = this.#range
    const iterator = this.#database.iterator({
      gt: isReverse ? after : (this.#last ?? after),
      lt: isReverse ? (this.#last ?? before) : before,
      reverse: isReverse,
      values: hasValues,
      limit: count,
      snapshot: this.#snapshot,
      highWaterMarkBytes: pageBytes,
    })
    // Not `nextv`: it stops after `limit` rows, and so never reaches the end.
    const raw = iterator as unknown as RawIterator
    try {
      const entries = await raw._nextv(count, {})
      // At the end of the iterator this reads nothing; otherwise it also frees the buffers of these rows.
      const more = await raw._nextv(1, {})
      entries.push(...more)
      return { entries, isCut: more.length > 0 }
    } finally {
      await iterator.close()
    }
  }

  async close(): Promise<void> {
    this.#failure ??= closedFailure(this.#folder)
    await this.#page?.catch(() => undefined)
    await this.#snapshot.close()
  }
}

type Entry = [key: string, value: Uint8Array | undefined]

/** The method behind `nextv` in the package behind `level`. The iterator must not be closed before the call is done. */
interface RawIterator {
  _nextv(size: number, options: object): Promise<Entry[]>
}

/**
 * The pages that all scans of a database are reading, and its compactions: the database must not be closed before they
 * are done.
 */
export class PageReads {
  readonly #pages = new Set<Promise<unknown>>()
  isOver = false

  during<Page>(page: Promise<Page>): Promise<Page> {
    this.#pages.add(page)
    const ended = () => this.#pages.delete(page)
    page.then(ended, ended)
    return page
  }

  /** Stops new reads; settled when the last one is done. */
  async end(): Promise<void> {
    this.isOver = true
    await Promise.allSettled(this.#pages)
  }
}
