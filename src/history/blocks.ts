import { ByteWriter, openRow } from '#history/bytes'
import { decodeColumn, encodeColumn } from '#history/column-codec'
import { dayMs, dayOf, historyKeys } from '#history/history-keys'
import { Points } from '#history/points'
import { DaySummary, decodeDay, encodeDay } from '#history/summary'
import type { Operation, Storage } from '#runtime/storage'
import { pagesOf } from '#store/pages'

/** Shorter spans are read day by day, because a scan takes about as long as reading this number of rows. */
const scannedDaysMin = 32

/** The number of points in one column of a block: a query decodes at least this many. */
const columnPoints = 1024

/** Some points of a series, and their place in the order in which points replace each other. */
export interface Piece {
  readonly sequence: number
  readonly points: Points
}

/** The pieces of each series. */
export type Pieces = ReadonlyMap<number, readonly Piece[]>

const writer = new ByteWriter()

/**
 * Yields the columns of the blocks with these sequences, of a series or its marks, on a day. Expired blocks are left
 * out.
 */
function* columnsOf(storage: Storage, series: number, day: number, sequences: readonly number[]): Generator<Piece> {
  for (const sequence of sequences) {
    const row = storage.get(historyKeys.block(series, day, sequence))
    if (!row) {
      const { blocks = [], markBlocks = [] } = readDay(storage, series - (series % 2), day) ?? {}
      const present = series % 2 === 0 ? blocks : markBlocks
      if (present.includes(sequence)) continue
      // The day was stored again since `sequences` were read. The new blocks replace all others.
      yield* columnsOf(storage, series, day, present)
      return
    }
    for (const reader = openRow(row); !reader.isAtEnd; ) {
      const points = new Points(columnPoints)
      decodeColumn(reader, points)
      yield { sequence, points }
    }
  }
}

/**
 * All pieces of one day, in an order in which later pieces replace earlier ones. The fresh pieces also have points of
 * other days.
 */
export function* piecesOfDay(
  storage: Storage,
  series: number,
  day: number,
  sequences: readonly number[],
  fresh: readonly Piece[],
): Generator<Piece> {
  let next = 0
  for (const piece of columnsOf(storage, series, day, sequences)) {
    for (; next < fresh.length && (fresh[next] as Piece).sequence <= piece.sequence; next++) yield fresh[next] as Piece
    yield piece
  }
  yield* fresh.slice(next)
}

/** The points of `piecesOfDay` on that day, as one list sorted by time. */
export function pointsOfDay(...args: Parameters<typeof piecesOfDay>): Points {
  const [, , day] = args
  const all = new Points(columnPoints)
  for (const { points } of piecesOfDay(...args)) all.append(points)
  all.settle()
  return ofDay(all, day)
}

/**
 * Yields the summary of a series for each day that has one, `fromDay` and `toDay` included. The next step overwrites
 * the summary. `isShort`: see `decodeDay`.
 */
export async function* readDays(
  storage: Storage,
  series: number,
  fromDay: number,
  toDay: number,
  isShort: boolean,
): AsyncGenerator<readonly [day: number, summary: DaySummary]> {
  const read = new DaySummary()
  if (toDay - fromDay < scannedDaysMin) {
    for (let day = fromDay; day <= toDay; day++) {
      const found = readDay(storage, series, day, read, isShort)
      if (found) yield [day, found]
    }
    return
  }
  for await (const page of pagesOf(storage, { ...historyKeys.sums(series, fromDay, toDay), hasValues: true })) {
    for (const { key, value } of page) yield [historyKeys.dayOfSum(key), decodeDay(openRow(value), read, isShort)]
  }
}

/** The summary of the last day with points before a day. Marks on the days between end its last value. */
export async function readDayBefore(storage: Storage, series: number, day: number): Promise<DaySummary | undefined> {
  const yesterday = readDay(storage, series, day - 1)
  if (yesterday && yesterday.hours.length > 0) return yesterday
  const scan = storage.scan({ ...historyKeys.sums(series, 0, day - 1), isReverse: true, hasValues: true })
  try {
    let mark = Number.POSITIVE_INFINITY
    for (;;) {
      const [row] = await scan.next(1)
      if (!row) return undefined
      const found = decodeDay(openRow(row.value))
      if (found.hours.length === 0) mark = found.firstMark
      else {
        found.hours.at(-1)?.end(mark)
        return found
      }
    }
  } finally {
    await scan.close()
  }
}

/**
 * The sequence of the newest block of a series or its marks, on the days of these points and marks. 0 if there is none.
 */
export function newestBlock(storage: Storage, series: number, points: Points, marks: Points): number {
  let newest = 0
  for (const day of daysOf(points, marks)) {
    const { blocks = [], markBlocks = [] } = readDay(storage, series, day) ?? {}
    newest = Math.max(newest, blocks.at(-1) ?? 0, markBlocks.at(-1) ?? 0)
  }
  return newest
}

export function readDay(
  storage: Storage,
  series: number,
  day: number,
  read?: DaySummary,
  isShort = false,
): DaySummary | undefined {
  const row = storage.get(historyKeys.sum(series, day))
  return row && decodeDay(openRow(row), read, isShort)
}

/** Merges pieces into one list, sorted by time. Later pieces replace earlier ones. */
export function mergePieces(pieces: readonly Piece[]): Points {
  const all = new Points(pieces.reduce((count, { points }) => count + points.count, 1))
  for (const { points } of pieces.toSorted((a, b) => a.sequence - b.sequence)) all.append(points)
  all.settle()
  return all
}

export interface BlocksOptions {
  readonly storage: Storage
  readonly series: number
  /** Sorted by time. */
  readonly points: Points
  readonly marks: Points
  /** The points and the marks again, by the runs that they come from. */
  readonly pieces: () => readonly [points: readonly Piece[], marks: readonly Piece[]]
  /** At least the highest sequence of the pieces. */
  readonly sequence: number
  /** The points and marks of the series in runs that are not merged now. They also stay in these runs. */
  readonly others: () => Pieces
}

/** The day that is being stored. */
const current = new DaySummary()

/**
 * Returns the changes that store points of a series, and its marks, in blocks. If these points and marks are later than
 * all others of their day, they are added to its summary; otherwise the whole day is read and stored again. So
 * storing the same points again changes nothing.
 *
 * For each of its times, a block holds the newest point of all runs up to its sequence.
 */
export function storeInBlocks(options: BlocksOptions): Operation[] {
  const { storage, series, points, marks, sequence } = options
  const operations: Operation[] = []
  for (const day of daysOf(points, marks)) {
    const before = readDay(storage, series, day, current)
    const [newPoints, newMarks] = [ofDay(points, day), ofDay(marks, day)]
    if (!before) {
      current.clear()
      operations.push(...appendToDay(series, day, newPoints, newMarks, sequence))
      continue
    }
    // An earlier merge, of smaller runs, may have used the sequence.
    const isUsed = before.blocks.includes(sequence) || before.markBlocks.includes(sequence)
    if (!isUsed && before.isBefore(Math.min(newPoints.firstTime, newMarks.firstTime))) {
      operations.push(...appendToDay(series, day, newPoints, newMarks, sequence))
      continue
    }
    const stored = [
      [...columnsOf(storage, series, day, before.blocks)],
      [...columnsOf(storage, series + 1, day, before.markBlocks)],
    ] as const
    if (mergePieces(stored[0]).count < before.count) {
      // Some points of the day have expired, so the day cannot be stored again. Late points are dropped.
      const end = before.lastTime + 1
      const rest = [newPoints, newMarks].map((each) => pointsBetween(each, end, Number.POSITIVE_INFINITY)) as [
        Points,
        Points,
      ]
      operations.push(...appendToDay(series, day, ...rest, sequence))
      continue
    }
    operations.push(...rewriteDay(options, day, stored))
  }
  return operations
}

/** Adds points and marks to `current`. Returns the changes that store them. */
function appendToDay(series: number, day: number, points: Points, marks: Points, sequence: number): Operation[] {
  if (points.count + marks.count === 0) return []
  current.add(points, marks)
  const operations: Operation[] = []
  if (points.count > 0) operations.push(blockOf(series, day, sequence, points, current.blocks))
  if (marks.count > 0) operations.push(blockOf(series + 1, day, sequence, marks, current.markBlocks))
  encodeDay(current, writer)
  operations.push({ key: historyKeys.sum(series, day), value: writer.takeRow() })
  return operations
}

/** Stores the day of `current` again as a whole, with the new points and marks. Returns the changes. */
function rewriteDay(
  { series, pieces, sequence, others }: BlocksOptions,
  day: number,
  stored: readonly [points: readonly Piece[], marks: readonly Piece[]],
): Operation[] {
  const fresh = pieces()
  const hidden = others()
  const newest = Math.max(sequence, current.blocks.at(-1) ?? 0, current.markBlocks.at(-1) ?? 0)
  const deleted = [current.blocks, current.markBlocks].flatMap((sequences, place) =>
    sequences.map((each) => ({ key: historyKeys.block(series + place, day, each), value: null })),
  )
  const all = stored.map((columns, place) => {
    // The sequence of the new block hides earlier points in these runs, so the block must contain them.
    const ofOthers = (hidden.get(series + place) ?? []).filter((piece) => piece.sequence < newest)
    const added = [...(fresh[place] ?? []), ...ofOthers]
    return mergePieces([...columns, ...added.map((piece) => ({ ...piece, points: ofDay(piece.points, day) }))])
  }) as [Points, Points]
  current.clear()
  return [...deleted, ...appendToDay(series, day, ...all, newest)]
}

/** Creates a block and adds its sequence to the list of the day. */
function blockOf(series: number, day: number, sequence: number, points: Points, sequences: number[]): Operation {
  for (let from = 0; from < points.count; from += columnPoints) {
    encodeColumn(points, from, Math.min(from + columnPoints, points.count), writer)
  }
  sequences.push(sequence)
  sequences.sort((a, b) => a - b)
  return { key: historyKeys.block(series, day, sequence), value: writer.takeRow() }
}

/** The days of two lists that are sorted by time. */
function* daysOf(points: Points, marks: Points): Iterable<number> {
  let [point, mark] = [0, 0]
  while (point < points.count || mark < marks.count) {
    const [time = Number.POSITIVE_INFINITY, markTime = Number.POSITIVE_INFINITY] = [
      point < points.count ? points.times[point] : undefined,
      mark < marks.count ? marks.times[mark] : undefined,
    ]
    const day = dayOf(Math.min(time, markTime))
    yield day
    point = points.indexAt((day + 1) * dayMs)
    mark = marks.indexAt((day + 1) * dayMs)
  }
}

function ofDay(points: Points, day: number): Points {
  return pointsBetween(points, day * dayMs, (day + 1) * dayMs)
}

/** The points in a span. `points` must be sorted by time. */
export function pointsBetween(points: Points, from: number, to: number): Points {
  const first = points.indexAt(from)
  const end = points.indexAt(to)
  if (first === 0 && end === points.count) return points
  const part = new Points(Math.max(1, end - first))
  part.append(points, first, end)
  return part
}
