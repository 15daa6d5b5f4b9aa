import type { Piece, Pieces } from '#history/blocks'
import { type ByteReader, ByteWriter, damagedRow, openRow } from '#history/bytes'
import { decodeColumn, encodeColumn } from '#history/column-codec'
import { historyKeys } from '#history/history-keys'
import { type Columns, Points } from '#history/points'
import { partitionPoint } from '#model/partition-point'
import type { Checkpoint } from '#runtime/projection'
import type { Operation, Storage } from '#runtime/storage'
import { keysBelow, sortableHex } from '#store/key-space'
import { pagesOf } from '#store/pages'
import { packRecord, unpackRecord } from '#store/record-codec'

export interface TimedCheckpoint extends Checkpoint {
  /** When the last entry of each tenant was stored. */
  readonly times: ReadonlyMap<string, number>
}

/** A list of pages with the points of many series, sorted by series. */
export interface Run {
  readonly name: string
  /**
   * The sequence of the newest run in a merged run. If several runs have a point at one time, the point of the run with
   * the highest sequence counts.
   */
  readonly sequence: number
  /** 0: stored from memory. A merge of runs makes a run of the next level. */
  readonly level: number
  readonly checkpoint: TimedCheckpoint
  /** The rows of the devices that were deleted in this run. They are restored if the run is dropped. */
  readonly removed: readonly (readonly [key: string, row: Uint8Array])[]
  /** Ids below this id are never assigned again. */
  readonly nextId: number
  /** The first series of each page. */
  readonly pages: readonly number[]
}

export type StoredCheckpoint = readonly [
  epoch: string,
  positions: readonly (readonly [tenant: string, offset: number, time: number])[],
]
type StoredRun = readonly [
  sequence: number,
  level: number,
  checkpoint: StoredCheckpoint,
  removed: Run['removed'],
  nextId: number,
  pages: Run['pages'],
]

const runFormat = { name: 'run of the history', version: 1, upgrades: {} }

export function runName(sequence: number, level: number): string {
  return `${sortableHex(sequence)}-${level}`
}

export function packRun({ sequence, level, checkpoint, removed, nextId, pages }: Run): Uint8Array {
  return packRecord(runFormat, [sequence, level, storedCheckpoint(checkpoint), removed, nextId, pages])
}

export function storedCheckpoint({ epoch, offsets, times }: TimedCheckpoint): StoredCheckpoint {
  return [epoch, [...offsets].map(([tenant, offset]) => [tenant, offset, times.get(tenant) ?? 0] as const)]
}

export function checkpointOf([epoch, positions]: StoredCheckpoint): TimedCheckpoint {
  return {
    epoch,
    offsets: new Map(positions.map(([tenant, offset]) => [tenant, offset])),
    times: new Map(positions.map(([tenant, , time]) => [tenant, time])),
  }
}

function unpackRun(row: Uint8Array): Run {
  const [sequence, level, stored, removed, nextId, pages] = unpackRecord(runFormat, row) as StoredRun
  const checkpoint = checkpointOf(stored)
  return { name: runName(sequence, level), sequence, level, checkpoint, removed, nextId, pages }
}

/** All runs, ordered by their sequences. */
export async function loadRuns(storage: Storage): Promise<Run[]> {
  const runs: Run[] = []
  for await (const page of pagesOf(storage, { ...keysBelow('run'), hasValues: true })) {
    for (const { value } of page) runs.push(unpackRun(value))
  }
  return runs
}

/** The changes that delete a run. */
export function deletionOf({ name, pages }: Run): Operation[] {
  const keys = [historyKeys.run(name), ...pages.map((first) => historyKeys.page(name, first))]
  return keys.map((key) => ({ key, value: null }))
}

/** Deletes pages that belong to no run: they remain from an interrupted merge. */
export async function deleteStrayPages(storage: Storage, runs: readonly Run[]): Promise<void> {
  const names = new Set(runs.map(({ name }) => name))
  const stray: Operation[] = []
  for await (const page of pagesOf(storage, { ...keysBelow('page'), hasValues: false })) {
    for (const { key } of page) if (!names.has(key.split('/')[1] ?? '')) stray.push({ key, value: null })
  }
  if (stray.length > 0) await storage.write(stray, { sync: false })
}

/** The size of a page. Writing one row for each series would take six times as long as writing such pages. */
const pageBytes = 64 * 1024

/**
 * Writes the pages of a run, with its series in order. A page begins with a time, from which the times in its columns
 * are counted. Then, for each series: its number (as the difference from the previous number), the length of its column,
 * and the column. A page contains only whole series.
 */
export class PageWriter {
  readonly #run: string
  readonly #writer = new ByteWriter()
  readonly #column = new ByteWriter()
  #last = 0
  #baseTime = 0
  /** The first series of each page. */
  readonly firsts: number[] = []
  /** Complete pages, to be stored. */
  pages: Operation[] = []

  constructor(run: string) {
    this.#run = run
  }

  add(series: number, points: Points): void {
    if (this.#writer.at === 0) {
      this.firsts.push(series)
      this.#last = series
      this.#baseTime = Math.floor(points.firstTime)
      this.#writer.signed(this.#baseTime)
    }
    encodeColumn(points, 0, points.count, this.#column, this.#baseTime)
    this.#writer.varint(series - this.#last)
    this.#writer.varint(this.#column.at)
    this.#writer.append(this.#column)
    this.#last = series
    if (this.#writer.at >= pageBytes) this.end()
  }

  /** Completes the current page. */
  end(): void {
    if (this.#writer.at === 0) return
    this.pages.push({ key: historyKeys.page(this.#run, this.firsts.at(-1) as number), value: this.#writer.takeRow() })
  }
}

/** Goes through the series of a page in order. */
class PageReader {
  readonly #reader: ByteReader
  readonly #baseTime: number
  #length = 0
  /** The current series. */
  series: number

  /** Begins before the first series. */
  constructor(storage: Storage, { name }: Run, first: number) {
    const row = storage.get(historyKeys.page(name, first))
    if (!row) throw damagedRow()
    this.#reader = openRow(row)
    this.#baseTime = this.#reader.signed()
    this.series = first
  }

  /** Goes to the next series. Returns false at the end. */
  next(): boolean {
    if (this.#reader.isAtEnd) return false
    this.series += this.#reader.varint()
    this.#length = this.#reader.varint()
    return true
  }

  /** Appends the points of the current series. Call `take` or `pass` once for each series. */
  take(points: Points): void {
    decodeColumn(this.#reader, points, this.#baseTime)
  }

  pass(): void {
    this.#reader.pass(this.#length)
  }
}

/** Goes through the series of a run in order. */
export class RunCursor {
  readonly #storage: Storage
  readonly #run: Run
  #place = -1
  #page: PageReader | undefined
  /** The current series; undefined at the end. */
  series: number | undefined

  /** Creates a cursor at the first series. */
  constructor(storage: Storage, run: Run) {
    this.#storage = storage
    this.#run = run
    this.next()
  }

  /** Goes to the next series. */
  next(): void {
    while (!this.#page?.next()) {
      const first = this.#run.pages[++this.#place]
      this.#page = first === undefined ? undefined : new PageReader(this.#storage, this.#run, first)
      if (!this.#page) {
        this.series = undefined
        return
      }
    }
    this.series = this.#page.series
  }

  /** Appends the points of the current series. Call `take` or `pass` once for each series. */
  take(points: Points): void {
    this.#page?.take(points)
  }

  pass(): void {
    this.#page?.pass()
  }
}

/** The index of the only page that may contain a series; -1 if the series is before the first page. */
function pageWith(series: number, pages: readonly number[]): number {
  return partitionPoint(pages.length, (index) => (pages[index] as number) <= series) - 1
}

/** Reads the points of some series from a run; the numbers of the series are sorted. Each page is read once. */
function readRun(
  storage: Storage,
  run: Run,
  sorted: readonly number[],
  take: (series: number, points: Points) => void,
): void {
  for (let next = 0; next < sorted.length; ) {
    const place = pageWith(sorted[next] as number, run.pages)
    const end = run.pages[place + 1] ?? Number.POSITIVE_INFINITY
    const first = run.pages[place]
    const page = first === undefined ? undefined : new PageReader(storage, run, first)
    while (page?.next()) {
      while ((sorted[next] ?? end) < page.series) next++
      if (next === sorted.length) break
      if (sorted[next] !== page.series) page.pass()
      else {
        const points = new Points()
        page.take(points)
        take(page.series, points)
      }
    }
    while (next < sorted.length && (sorted[next] as number) < end) next++
  }
}

/** Points that are not in blocks yet. */
export function readFresh(storage: Storage, runs: readonly Run[], columns: Columns, series: readonly number[]): Pieces {
  const pieces = readRuns(storage, runs, series)
  const unstored = new Map(series.map((each) => [each, new Points(1)]))
  columns.collect(unstored)
  for (const [each, points] of unstored) {
    if (points.count === 0) continue
    points.settle()
    pieces.get(each)?.push({ sequence: Number.POSITIVE_INFINITY, points })
  }
  return pieces
}

/** The points of some series, whose numbers are sorted, in the order of the runs. */
export function readRuns(storage: Storage, runs: readonly Run[], series: readonly number[]): Map<number, Piece[]> {
  const pieces = new Map<number, Piece[]>(series.map((each) => [each, []]))
  for (const run of runs) {
    const { sequence } = run
    readRun(storage, run, series, (each, points) => pieces.get(each)?.push({ sequence, points }))
  }
  return pieces
}
