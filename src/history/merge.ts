import { newestBlock, type Piece, storeInBlocks } from '#history/blocks'
import { PageWriter, RunCursor, readRuns } from '#history/pages'
import { Points } from '#history/points'
import { type Run, runName } from '#history/runs'
import type { Operation, Storage } from '#runtime/storage'

export interface MergeOptions {
  readonly storage: Storage
  /** In the order of their sequences. */
  readonly runs: readonly Run[]
  /** All others. */
  readonly otherRuns: readonly Run[]
  /** A series with this many points is stored in blocks; one with fewer goes into the merged run. */
  readonly blockPointsMin: number
  /** Whether its points must be kept. */
  readonly isNeeded: (series: number) => boolean
  /** Called between series from time to time. */
  readonly pause: () => Promise<void>
}

const operationsMax = 512

/**
 * Merges runs into one of the next level, and series with enough points into blocks. Nothing is deleted; a merge that was
 * interrupted is made again from the same runs, with the same result. Returns the level of the merged run, or undefined
 * if everything is in blocks.
 */
export async function mergeRuns(options: MergeOptions): Promise<Run | undefined> {
  const { storage, runs, otherRuns, blockPointsMin, isNeeded, pause } = options
  const newest = runs.at(-1) as Run
  const level = Math.max(...runs.map((run) => run.level)) + 1
  const name = runName(newest.sequence, level)
  const cursors = runs.map((run) => new RunCursor(storage, run.name))
  const pages = new PageWriter(name)
  const pair = [new Points(), new Points()] as const
  /** Where the points of each run begin in them. */
  const starts: [number[], number[]] = [[], []]
  // The runs of the lowest level are newer than all blocks.
  const hasMerged = runs.some((run) => run.level > 0)
  let operations: Operation[] = []
  let isAnyInRun = false
  const write = async () => {
    await storage.write([...operations, ...pages.pages], { sync: false })
    operations = []
    pages.pages = []
    await pause()
  }
  try {
    for (const cursor of cursors) await cursor.next()
    for (;;) {
      const series = firstOf(cursors)
      if (series === undefined) break
      for (const [place, points] of pair.entries()) {
        points.clear()
        starts[place] = []
        for (const cursor of cursors) {
          starts[place].push(points.count)
          if (cursor.series !== series + place) continue
          if (isNeeded(series)) cursor.take(points)
          else cursor.pass()
          const step = cursor.next()
          if (step) await step
        }
      }
      const [points, marks] = pair
      const hasEnough = points.count + marks.count >= blockPointsMin
      const pieces = hasEnough || hasMerged ? pair.map((each, place) => piecesOf(each, starts[place] ?? [], runs)) : []
      const [pointPieces = [], markPieces = []] = pieces
      if (hasEnough || (hasMerged && (await hasNewerBlock(storage, series, pieces)))) {
        const stored = await storeInBlocks({
          storage,
          series,
          points: pointPieces,
          marks: markPieces,
          sequence: newest.sequence,
          others: () => readRuns(storage, otherRuns, [series, series + 1]),
        })
        operations.push(...stored)
      } else {
        for (const [place, each] of pair.entries()) {
          each.settle()
          if (each.count > 0) pages.add(series + place, each)
        }
        isAnyInRun ||= points.count + marks.count > 0
      }
      if (operations.length + pages.pages.length > operationsMax) await write()
    }
    pages.end()
    await write()
  } finally {
    for (const cursor of cursors) await cursor.close()
  }
  return isAnyInRun ? { ...newest, name, level, removed: [] } : undefined
}

function piecesOf(points: Points, starts: readonly number[], runs: readonly Run[]): Piece[] {
  return runs.flatMap(({ sequence }, place) => {
    const [from, to] = [starts[place] ?? 0, starts[place + 1] ?? points.count]
    if (from === to) return []
    const part = new Points(to - from)
    part.append(points, from, to)
    return [{ sequence, points: part }]
  })
}

/** In a merged run, some of its points would replace those of a block that came later in the stream. */
async function hasNewerBlock(storage: Storage, series: number, lists: readonly (readonly Piece[])[]): Promise<boolean> {
  const pieces = lists.flat()
  const oldest = Math.min(...pieces.map(({ sequence }) => sequence))
  return (await newestBlock(storage, series, pieces)) > oldest
}

/** The least series of all cursors: of values, not of marks. */
function firstOf(cursors: readonly RunCursor[]): number | undefined {
  let first: number | undefined
  for (const { series } of cursors) {
    if (series !== undefined && (first === undefined || series < first)) first = series
  }
  return first === undefined ? undefined : first - (first % 2)
}
