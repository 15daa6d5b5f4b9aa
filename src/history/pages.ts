import type { Piece, Pieces } from '#history/blocks'
import { type ByteReader, ByteWriter, openRow } from '#history/bytes'
import { decodeColumn, encodeColumn } from '#history/column-codec'
import type { Columns } from '#history/columns'
import { historyKeys } from '#history/history-keys'
import { Points } from '#history/points'
import type { Run } from '#history/runs'
import type { Operation, Storage } from '#runtime/storage'
import { numberOf } from '#store/key-space'
import { firstRowOf, pagesOf } from '#store/pages'

/** One row for each series takes six times as long to write as pages of this size. */
const pageBytes = 64 * 1024

/**
 * Makes the pages of a run: its series in order, each with its number as the difference from the one before, the length
 * of its column, and the column. A series is never divided.
 */
export class PageWriter {
  readonly #run: string
  readonly #writer = new ByteWriter()
  readonly #column = new ByteWriter()
  #first = 0
  #last = 0
  /** Complete pages, to be stored. */
  pages: Operation[] = []

  constructor(run: string) {
    this.#run = run
  }

  add(series: number, points: Points): void {
    if (this.#writer.at === 0) {
      this.#first = series
      this.#last = series
    }
    encodeColumn(points, 0, points.count, this.#column)
    this.#writer.varint(series - this.#last)
    this.#writer.varint(this.#column.at)
    this.#writer.raw(this.#column.bytes.subarray(0, this.#column.at))
    this.#column.at = 0
    this.#last = series
    if (this.#writer.at >= pageBytes) this.end()
  }

  /** Completes the last page. */
  end(): void {
    if (this.#writer.at === 0) return
    this.pages.push({ key: historyKeys.page(this.#run, this.#first), value: this.#writer.takeRow() })
  }
}

/** Goes through the series of a run in order. */
export class RunCursor {
  readonly #rows: AsyncGenerator<readonly { readonly key: string; readonly value: Uint8Array }[], void, undefined>
  #pages: { readonly key: string; readonly value: Uint8Array }[] = []
  #reader: ByteReader | undefined
  #length = 0
  /** The current series; undefined at the end. */
  series: number | undefined = 0

  constructor(storage: Storage, run: string) {
    this.#rows = pagesOf(storage, { after: historyKeys.page(run, 0), before: `page/${run}0`, hasValues: true })
  }

  /** Goes to the next series. Synchronous within a page. */
  next(): Promise<void> | undefined {
    if (!this.#reader || this.#reader.isAtEnd) return this.#nextPage()
    this.#head(this.series as number)
    return undefined
  }

  /** Appends the points of the current series. Call it, or `pass`, once for each series. */
  take(points: Points): void {
    decodeColumn(this.#reader as ByteReader, points)
  }

  pass(): void {
    this.#reader?.take(this.#length)
  }

  close(): Promise<unknown> {
    return this.#rows.return()
  }

  async #nextPage(): Promise<void> {
    if (this.#pages.length === 0) {
      const { value, done } = await this.#rows.next()
      this.#pages = done ? [] : [...value]
    }
    const page = this.#pages.shift()
    if (!page) {
      this.series = undefined
      return
    }
    this.#reader = openRow(page.value)
    this.#head(numberOf(page.key))
  }

  #head(before: number): void {
    const reader = this.#reader as ByteReader
    this.series = before + reader.varint()
    this.#length = reader.varint()
  }
}

/**
 * Reads the points of some series from a run; the numbers of the series are sorted. Series of one page are read
 * together.
 */
export async function readRun(
  storage: Storage,
  run: string,
  sorted: readonly number[],
  take: (series: number, points: Points) => void,
): Promise<void> {
  const wanted = new Set(sorted)
  let last = -1
  for (const series of sorted) {
    // It was in the page of an earlier one.
    if (series <= last) continue
    const row = await firstRowOf(storage, {
      after: `page/${run}/`,
      before: historyKeys.page(run, series + 1),
      isReverse: true,
      hasValues: true,
    })
    if (!row) continue
    const reader = openRow(row.value)
    let found = numberOf(row.key)
    while (!reader.isAtEnd) {
      found += reader.varint()
      const length = reader.varint()
      if (!wanted.has(found) || found <= last) reader.take(length)
      else {
        const points = new Points()
        decodeColumn(reader, points)
        take(found, points)
      }
    }
    last = Math.max(found, series)
  }
}

/** Points that are not in blocks yet. The present state is taken at the call, before the first await. */
export async function readFresh(
  storage: Storage,
  runs: readonly Run[],
  columns: Columns,
  series: readonly number[],
): Promise<Pieces> {
  const unstored = new Map(series.map((each) => [each, new Points(1)]))
  columns.collect(unstored)
  const pieces = await readRuns(storage, runs, series)
  for (const [each, points] of unstored) {
    if (points.count === 0) continue
    points.settle()
    pieces.get(each)?.push({ sequence: Number.POSITIVE_INFINITY, points })
  }
  return pieces
}

/** The points of some series, whose numbers are sorted, in the order of the runs. */
export async function readRuns(
  storage: Storage,
  runs: readonly Run[],
  series: readonly number[],
): Promise<Map<number, Piece[]>> {
  const pieces = new Map<number, Piece[]>(series.map((each) => [each, []]))
  for (const { name, sequence } of runs) {
    await readRun(storage, name, series, (each, points) => pieces.get(each)?.push({ sequence, points }))
  }
  return pieces
}
