import type { Level } from 'level'
import type { Row, Scan, ScanRange, StorageFailure } from '#runtime/storage'
import { closedFailure, failureFrom } from '#store/failure'

const MIB = 1024 * 1024

/**
 * A scan holds room for a whole page, 64 bytes a row, and the rows of its last page, until the collector finds that it is
 * dead; V8 knows nothing of that memory, and takes its time. So pages begin small, and grow: most scans find few rows.
 */
const firstRows = 32
const growTimes = 4

/** A page ends with the row behind the one that reaches this, at the latest: copying 1 MiB holds the loop for less than 1 ms. */
const pageBytes = 1 * MIB

const noBytes = new Uint8Array(0)

/**
 * LevelDB steps over a table that it cannot open, and a block that it cannot read, and says so to who reads its iterator to the
 * end alone. So each page is an iterator of its own, on one snapshot, that ends where the page does.
 */
export class LevelScan implements Scan {
  readonly #database: Level<string, Uint8Array>
  readonly #folder: string
  readonly #range: ScanRange
  readonly #snapshot: ReturnType<Level<string, Uint8Array>['snapshot']>
  readonly #scanning: Scanning
  #page: Promise<unknown> | undefined
  #rowsMax = firstRows
  /** The last row given. */
  #last: string | undefined
  #isAtEnd = false
  #failure: StorageFailure | undefined

  constructor(database: Level<string, Uint8Array>, folder: string, range: ScanRange, scanning: Scanning) {
    this.#database = database
    this.#folder = folder
    this.#range = range
    this.#scanning = scanning
    this.#snapshot = database.snapshot()
  }

  async next(countMax: number): Promise<readonly Row[]> {
    if (this.#page !== undefined) throw new Error('One call of next at a time')
    if (this.#failure) throw this.#failure
    if (this.#scanning.isOver) throw closedFailure(this.#folder)
    if (this.#isAtEnd) return []
    const page = this.#scanning.during(this.#read(Math.min(countMax, this.#rowsMax)))
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
    // It stopped because of its bytes, short of its end: the same rows again, and no other.
    if (isCut && (await this.#entries(entries.length, false)).entries.length !== entries.length) {
      throw new Error('rows are gone that were there')
    }
    this.#last = entries.at(-1)?.[0] ?? this.#last
    this.#isAtEnd = !isCut && entries.length < count
    return entries
  }

  /** The next ones. Unless it is cut short by their bytes, LevelDB was asked whether these are all. */
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
    // Not `nextv`: it asks nobody when it has the limit, and so never comes to the end.
    const raw = iterator as unknown as RawIterator
    try {
      const entries = await raw._nextv(count, {})
      // At the end of the range this asks nobody; else it lets go of what stands in memory for these, too.
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

/** What the package behind `level` does for `nextv`. Whoever calls it must not close the iterator before it is done. */
interface RawIterator {
  _nextv(size: number, options: object): Promise<Entry[]>
}

/** The pages that all scans of a database are reading: it must not be closed before they are there. */
export class Scanning {
  readonly #pages = new Set<Promise<unknown>>()
  #isOver = false

  get isOver(): boolean {
    return this.#isOver
  }

  during<Page>(page: Promise<Page>): Promise<Page> {
    this.#pages.add(page)
    const ended = () => this.#pages.delete(page)
    page.then(ended, ended)
    return page
  }

  /** Nobody begins another one; settled when the last one is there. */
  async end(): Promise<void> {
    this.#isOver = true
    await Promise.allSettled(this.#pages)
  }
}
