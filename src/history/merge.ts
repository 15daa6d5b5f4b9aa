import { newestBlock, type Piece, storeInBlocks } from '#history/blocks'
import { Points } from '#history/points'
import { PageWriter, type Run, RunCursor, readRuns, runName } from '#history/runs'
import type { Operation, Storage } from '#runtime/storage'

export interface MergeOptions {
  readonly storage: Storage
  /** The runs to merge, ordered by their sequences. */
  readonly runs: readonly Run[]
  /** All other runs. */
  readonly otherRuns: readonly Run[]
  /** A series with this many points is stored in blocks. A series with fewer points goes into the merged run. */
  readonly blockPointsMin: number
  /** Whether the points of a series must be kept. */
  readonly isNeeded: (series: number) => boolean
  /** Called between series from time to time. */
  readonly pause: () => Promise<void>
}

const operationsMax = 512

/**
 * Merges runs into one run of the next level, and series with enough points into blocks. No run is deleted, so an
 * interrupted merge is repeated from the same runs, with the same result. Returns the merged run, or undefined if
 * everything is in blocks.
 */
export async function mergeRuns(options: MergeOptions): Promise<Run | undefined> {
  const { storage, runs, otherRuns, blockPointsMin, isNeeded, pause } = options
  const newest = runs.at(-1) as Run
  const { sequence } = newest
  const level = Math.max(...runs.map((run) => run.level)) + 1
  const name = runName(sequence, level)
  const cursors = runs.map((run) => new RunCursor(storage, run))
  const pages = new PageWriter(name)
  const [values, marks] = [new SeriesInRuns(runs), new SeriesInRuns(runs)]
  // Runs of level 0 are newer than all blocks.
  const hasMerged = runs.some((run) => run.level > 0)
  let operations: Operation[] = []
  const write = async () => {
    await storage.write([...operations, ...pages.pages], { sync: false })
    operations = []
    pages.pages = []
    await pause()
  }
  for (let series = firstOf(cursors); series !== undefined; series = firstOf(cursors)) {
    const isKept = isNeeded(series)
    values.take(cursors, series, isKept)
    marks.take(cursors, series + 1, isKept)
    const [points, markPoints] = [values.settled(), marks.settled()]
    const oldest = Math.min(values.oldest, marks.oldest)
    if (
      values.count + marks.count >= blockPointsMin ||
      // In the merged run, some points would hide points of a block, although these came later in the stream.
      (hasMerged && newestBlock(storage, series, points, markPoints) > oldest)
    ) {
      const pieces = () => [values.pieces(), marks.pieces()] as const
      const others = () => readRuns(storage, otherRuns, [series, series + 1])
      operations.push(...storeInBlocks({ storage, series, points, marks: markPoints, pieces, sequence, others }))
    } else {
      if (points.count > 0) pages.add(series, points)
      if (markPoints.count > 0) pages.add(series + 1, markPoints)
    }
    if (operations.length + pages.pages.length > operationsMax) await write()
  }
  pages.end()
  await write()
  return pages.firsts.length > 0 ? { ...newest, name, level, removed: [], pages: pages.firsts } : undefined
}

/** The points of one series in several runs. */
class SeriesInRuns {
  readonly #runs: readonly Run[]
  /** Ordered by run. */
  readonly #points = new Points()
  /** The indexes at which the points of each run begin. */
  readonly #starts: number[] = []

  constructor(runs: readonly Run[]) {
    this.#runs = runs
  }

  get count(): number {
    return this.#points.count
  }

  /** The sequence of the oldest run that has points of the series. */
  get oldest(): number {
    if (this.count === 0) return Number.POSITIVE_INFINITY
    const next = this.#starts.findIndex((start) => start > 0)
    return (this.#runs.at(next < 0 ? -1 : next - 1) as Run).sequence
  }

  /** Takes the points of a series from the cursors at this series. If `isKept` is false, the points are passed over. */
  take(cursors: readonly RunCursor[], series: number, isKept: boolean): void {
    this.#points.clear()
    for (let place = 0; place < cursors.length; place++) {
      const cursor = cursors[place] as RunCursor
      this.#starts[place] = this.count
      if (cursor.series !== series) continue
      if (isKept) cursor.take(this.#points)
      else cursor.pass()
      cursor.next()
    }
  }

  /** The points, sorted by time; valid until the next `take`. */
  settled(): Points {
    if (this.#points.isSettled) return this.#points
    const copy = new Points(this.count)
    copy.append(this.#points)
    copy.settle()
    return copy
  }

  pieces(): Piece[] {
    return this.#runs.flatMap(({ sequence }, place) => {
      const [from, to] = [this.#starts[place] ?? 0, this.#starts[place + 1] ?? this.count]
      if (from === to) return []
      const points = new Points(to - from)
      points.append(this.#points, from, to)
      return [{ sequence, points }]
    })
  }
}

/** The lowest series of all cursors. If it is a series of marks, returns the series that the marks belong to. */
function firstOf(cursors: readonly RunCursor[]): number | undefined {
  let first: number | undefined
  for (const { series } of cursors) {
    if (series !== undefined && (first === undefined || series < first)) first = series
  }
  return first === undefined ? undefined : first - (first % 2)
}
