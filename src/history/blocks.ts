import { ByteWriter, openRow } from '#history/bytes'
import { decodeColumn, encodeColumn } from '#history/column-codec'
import { dayMs, dayOf, historyKeys } from '#history/history-keys'
import { Points } from '#history/points'
import { DaySummary, decodeDay, encodeDay } from '#history/summary'
import type { Operation, Storage } from '#runtime/storage'
import { numberOf } from '#store/keys'
import { pagesOf } from '#store/pages'

/** The points of one column of a block: a query decodes at least this many. */
const columnPoints = 1024

/** Some points of a series, and their place in the order in which points replace each other. */
export interface Piece {
  readonly sequence: number
  readonly points: Points
}

const writer = new ByteWriter()
const noPoints = new Points(0)

/** The blocks of a series from one day to another, both included. */
export async function readBlocks(storage: Storage, series: number, fromDay: number, toDay: number): Promise<Piece[]> {
  const pieces: Piece[] = []
  for await (const page of pagesOf(storage, { ...historyKeys.blocks(series, fromDay, toDay), hasValues: true })) {
    for (const { key, value } of page) {
      const points = new Points()
      const reader = openRow(value)
      while (!reader.isAtEnd) decodeColumn(reader, points)
      pieces.push({ sequence: numberOf(key), points })
    }
  }
  return pieces
}

/** The summaries of a series by day, of the days from one to another, both included. */
export async function readDays(
  storage: Storage,
  series: number,
  fromDay: number,
  toDay: number,
): Promise<Map<number, DaySummary | undefined>> {
  const days = new Map<number, DaySummary | undefined>()
  for await (const page of pagesOf(storage, { ...historyKeys.sums(series, fromDay, toDay), hasValues: true })) {
    for (const { key, value } of page) days.set(historyKeys.dayOfSum(key), decodeDay(openRow(value)))
  }
  return days
}

/** The summary of the last day with points before a day; marks on days after it end what its last value holds. */
export async function readDayBefore(storage: Storage, series: number, day: number): Promise<DaySummary | undefined> {
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

/**
 * The changes that store points of a series, and its marks, in blocks. Points that are later than all others of their day
 * are added to its summary; otherwise the day is read, and stored anew. So the same points may be stored twice.
 */
export async function storeInBlocks(
  storage: Storage,
  series: number,
  points: Points,
  marks: Points,
  sequence: number,
): Promise<Operation[]> {
  const operations: Operation[] = []
  for (const day of daysOf(points, marks)) {
    const [from, to] = [day * dayMs, (day + 1) * dayMs]
    const newPoints = part(points, from, to)
    const newMarks = part(marks, from, to)
    const before = readDay(storage, series, day)
    const first = Math.min(newPoints.firstTime, newMarks.firstTime)
    if (!before || before.isBefore(first)) {
      const summary = before ?? new DaySummary()
      summary.add(newPoints, newMarks)
      operations.push(
        ...blockOf(series, day, sequence, newPoints),
        ...blockOf(series + 1, day, sequence, newMarks),
        sumOf(series, day, summary),
      )
    } else operations.push(...(await dayAnew(storage, series, day, newPoints, newMarks, sequence)))
  }
  return operations
}

async function dayAnew(
  storage: Storage,
  series: number,
  day: number,
  newPoints: Points,
  newMarks: Points,
  sequence: number,
): Promise<Operation[]> {
  const operations: Operation[] = []
  const [all, allMarks] = await Promise.all(
    [newPoints, newMarks].map(async (points, place) => {
      const pieces = await readBlocks(storage, series + place, day, day)
      for (const piece of pieces)
        operations.push({ key: historyKeys.block(series + place, day, piece.sequence), value: null })
      return merged([...pieces, { sequence, points }])
    }),
  )
  const summary = new DaySummary()
  summary.add(all ?? noPoints, allMarks ?? noPoints)
  return [
    ...operations,
    ...blockOf(series, day, sequence, all ?? noPoints),
    ...blockOf(series + 1, day, sequence, allMarks ?? noPoints),
    sumOf(series, day, summary),
  ]
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

function daysOf(...lists: readonly Points[]): number[] {
  const days = new Set<number>()
  for (const { times, count } of lists) for (let at = 0; at < count; at++) days.add(dayOf(times[at] as number))
  return [...days].sort((a, b) => a - b)
}

function part(points: Points, from: number, to: number): Points {
  const first = points.indexAt(from)
  const end = points.indexAt(to)
  if (first === 0 && end === points.count) return points
  const taken = new Points(Math.max(1, end - first))
  taken.append(points, first, end)
  return taken
}
