import { ByteWriter, openRow } from '#history/bytes'
import { decodeColumn, encodeColumn } from '#history/column-codec'
import { dayMs, dayOf, historyKeys } from '#history/history-keys'
import { Points } from '#history/points'
import { DaySummary, decodeDay, encodeDay } from '#history/summary'
import type { Operation, Storage } from '#runtime/storage'
import { numberOf } from '#store/key-space'
import { firstRowOf, pagesOf } from '#store/pages'

/** A scan takes about as long as reading this number of rows one by one. */
const daysGot = 8

/** The points of one column of a block: a query decodes at least this many. */
const columnPoints = 1024

/** Some points of a series, and their place in the order in which points replace each other. */
export interface Piece {
  readonly sequence: number
  readonly points: Points
}

/** The pieces of each series. */
export type Pieces = ReadonlyMap<number, readonly Piece[]>

const writer = new ByteWriter()

/** The blocks of a series from one day to another, both included: each column of them, in the order of their sequences by day. */
async function* columnsOf(storage: Storage, series: number, fromDay: number, toDay: number): AsyncGenerator<Piece> {
  for await (const page of pagesOf(storage, { ...historyKeys.blocks(series, fromDay, toDay), hasValues: true })) {
    for (const { key, value } of page) {
      const reader = openRow(value)
      while (!reader.isAtEnd) {
        const points = new Points()
        decodeColumn(reader, points)
        yield { sequence: numberOf(key), points }
      }
    }
  }
}

export async function readBlocks(storage: Storage, series: number, fromDay: number, toDay: number): Promise<Piece[]> {
  const pieces: Piece[] = []
  for await (const piece of columnsOf(storage, series, fromDay, toDay)) pieces.push(piece)
  return pieces
}

/**
 * All pieces of one day, in an order in which later pieces replace earlier ones. The fresh pieces also have points of
 * other days.
 */
export async function* piecesOfDay(
  storage: Storage,
  series: number,
  day: number,
  fresh: readonly Piece[],
): AsyncGenerator<Piece> {
  let next = 0
  for await (const piece of columnsOf(storage, series, day, day)) {
    for (; next < fresh.length && (fresh[next] as Piece).sequence <= piece.sequence; next++) yield fresh[next] as Piece
    yield piece
  }
  yield* fresh.slice(next)
}

/** The summaries of a series by day, of the days from one to another, both included. */
export async function readDays(
  storage: Storage,
  series: number,
  fromDay: number,
  toDay: number,
): Promise<Map<number, DaySummary | undefined>> {
  const days = new Map<number, DaySummary | undefined>()
  if (toDay - fromDay < daysGot) {
    for (let day = fromDay; day <= toDay; day++) {
      const found = readDay(storage, series, day)
      if (found) days.set(day, found)
    }
    return days
  }
  for await (const page of pagesOf(storage, { ...historyKeys.sums(series, fromDay, toDay), hasValues: true })) {
    for (const { key, value } of page) days.set(historyKeys.dayOfSum(key), decodeDay(openRow(value)))
  }
  return days
}

/** The summary of the last day with points before a day; marks on days after it end what its last value holds. */
export async function readDayBefore(storage: Storage, series: number, day: number): Promise<DaySummary | undefined> {
  const yesterday = readDay(storage, series, day - 1)
  if (yesterday && yesterday.hours.size > 0) return yesterday
  const scan = storage.scan({ ...historyKeys.sums(series, 0, day - 1), isReverse: true, hasValues: true })
  try {
    let mark = Number.POSITIVE_INFINITY
    for (;;) {
      const [row] = await scan.next(1)
      if (!row) return undefined
      const found = decodeDay(openRow(row.value))
      if (found.hours.size === 0) mark = found.firstMark
      else {
        found.inOrder().at(-1)?.end(mark)
        return found
      }
    }
  } finally {
    await scan.close()
  }
}

/** The sequence of the newest block of a series, or of its marks, on the days of some of their points; 0 if there is none. */
export async function newestBlock(storage: Storage, series: number, pieces: readonly Piece[]): Promise<number> {
  let newest = 0
  for (const day of daysOf(pieces.map(({ points }) => points))) {
    if (!storage.get(historyKeys.sum(series, day))) continue
    for (const id of [series, series + 1]) {
      const range = { ...historyKeys.blocks(id, day, day), isReverse: true, hasValues: false }
      const row = await firstRowOf(storage, range)
      if (row) newest = Math.max(newest, numberOf(row.key))
    }
  }
  return newest
}

function readDay(storage: Storage, series: number, day: number): DaySummary | undefined {
  const row = storage.get(historyKeys.sum(series, day))
  return row && decodeDay(openRow(row))
}

/** One list of all pieces, sorted by time, in which later pieces replace earlier ones. */
export function merged(pieces: readonly Piece[]): Points {
  const all = new Points(pieces.reduce((count, { points }) => count + points.count, 1))
  for (const { points } of pieces.toSorted((a, b) => a.sequence - b.sequence)) all.append(points)
  all.settle()
  return all
}

export interface BlocksOptions {
  readonly storage: Storage
  readonly series: number
  /** By the runs that they come from; in each, sorted by time. */
  readonly points: readonly Piece[]
  readonly marks: readonly Piece[]
  /** Not less than any of their sequences. */
  readonly sequence: number
  /** The points of the series and of its marks in the other runs. They stay there. */
  readonly others: () => Promise<Pieces>
}

/**
 * The changes that store points of a series, and its marks, in blocks. Points that are later than all others of their day
 * are added to its summary; otherwise the whole day is read and stored again. So the same points may be stored twice.
 *
 * A block holds the newest point of each of its times among all runs up to its sequence.
 */
export async function storeInBlocks(options: BlocksOptions): Promise<Operation[]> {
  const { storage, series, sequence } = options
  const [points, marks] = [merged(options.points), merged(options.marks)]
  let others: Promise<Pieces> | undefined
  const operations: Operation[] = []
  for (const day of daysOf([points, marks])) {
    const before = readDay(storage, series, day)
    const [newPoints, newMarks] = [points, marks].map((each) => ofDay(each, day)) as [Points, Points]
    if (!before || before.isBefore(Math.min(newPoints.firstTime, newMarks.firstTime))) {
      operations.push(...dayLonger(series, day, before, newPoints, newMarks, sequence))
      continue
    }
    const stored = [
      await readBlocks(storage, series, day, day),
      await readBlocks(storage, series + 1, day, day),
    ] as const
    if (isExpired(before, stored[0])) {
      // The place of the late points among the others is not known any more.
      const end = before.lastTime + 1
      const rest = [newPoints, newMarks].map((each) => between(each, end, Number.POSITIVE_INFINITY)) as [Points, Points]
      operations.push(...dayLonger(series, day, before, ...rest, sequence))
      continue
    }
    others ??= options.others()
    operations.push(...dayAnew(options, day, stored, await others))
  }
  return operations
}

/** Whether some points of a day are kept only as summaries. */
export function isExpired(summary: DaySummary, blocks: readonly Piece[]): boolean {
  return merged(blocks).count < summary.count
}

function dayLonger(
  series: number,
  day: number,
  before: DaySummary | undefined,
  points: Points,
  marks: Points,
  sequence: number,
): Operation[] {
  if (points.count + marks.count === 0) return []
  const summary = before ?? new DaySummary()
  summary.add(points, marks)
  return [
    ...blockOf(series, day, sequence, points),
    ...blockOf(series + 1, day, sequence, marks),
    sumOf(series, day, summary),
  ]
}

function dayAnew(
  { series, points, marks, sequence }: BlocksOptions,
  day: number,
  stored: readonly [points: readonly Piece[], marks: readonly Piece[]],
  others: Pieces,
): Operation[] {
  const operations: Operation[] = []
  const newest = Math.max(sequence, ...stored.flat().map((piece) => piece.sequence))
  const all = [points, marks].map((pieces, place) => {
    const id = series + place
    for (const piece of stored[place] ?? [])
      operations.push({ key: historyKeys.block(id, day, piece.sequence), value: null })
    // The sequence of the block hides what it replaces in these runs.
    const hidden = (others.get(id) ?? []).filter((piece) => piece.sequence < newest)
    const fresh = [...pieces, ...hidden].map((piece) => ({ ...piece, points: ofDay(piece.points, day) }))
    return merged([...(stored[place] ?? []), ...fresh])
  }) as [Points, Points]
  return [...operations, ...dayLonger(series, day, undefined, ...all, newest)]
}

function blockOf(series: number, day: number, sequence: number, points: Points): Operation[] {
  if (points.count === 0) return []
  for (let from = 0; from < points.count; from += columnPoints) {
    encodeColumn(points, from, Math.min(from + columnPoints, points.count), writer)
  }
  return [{ key: historyKeys.block(series, day, sequence), value: writer.takeRow() }]
}

function sumOf(series: number, day: number, summary: DaySummary): Operation {
  encodeDay(summary, writer)
  return { key: historyKeys.sum(series, day), value: writer.takeRow() }
}

function daysOf(lists: readonly Points[]): number[] {
  const days = new Set<number>()
  for (const { times, count } of lists) for (let at = 0; at < count; at++) days.add(dayOf(times[at] as number))
  return [...days].sort((a, b) => a - b)
}

function ofDay(points: Points, day: number): Points {
  return between(points, day * dayMs, (day + 1) * dayMs)
}

/** The points are sorted by time. */
export function between(points: Points, from: number, to: number): Points {
  const first = points.indexAt(from)
  const end = points.indexAt(to)
  if (first === 0 && end === points.count) return points
  const part = new Points(Math.max(1, end - first))
  part.append(points, first, end)
  return part
}
