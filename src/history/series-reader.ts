import { merged, type Piece, readBlocks } from '#history/blocks'
import type { Columns } from '#history/columns'
import { dayOf } from '#history/history-keys'
import { readRun } from '#history/pages'
import { Points } from '#history/points'
import type { Run } from '#history/runs'
import type { Storage } from '#runtime/storage'

/** The points of each series; those that replace others come later. */
type Pieces = ReadonlyMap<number, Piece[]>

/** Points of some series from one time to another, the latter not included. The numbers of the series are sorted. */
export async function readSeries(
  storage: Storage,
  runs: readonly Run[],
  columns: Columns,
  series: readonly number[],
  from: number,
  to: number,
): Promise<ReadonlyMap<number, Points>> {
  const fresh = await readFresh(storage, runs, columns, series)
  const found = new Map<number, Points>()
  for (const [each, pieces] of fresh) {
    const blocks = await readBlocks(storage, each, dayOf(from), dayOf(to - 1))
    found.set(each, between(merged([...blocks, ...pieces]), from, to))
  }
  return found
}

/** Points that are not in blocks yet. The present state is taken at the call, before the first await. */
async function readFresh(
  storage: Storage,
  runs: readonly Run[],
  columns: Columns,
  series: readonly number[],
): Promise<Pieces> {
  const unstored = new Map(series.map((each) => [each, new Points(1)]))
  columns.collect(unstored)
  const pieces = new Map<number, Piece[]>()
  for (const [each, points] of unstored) pieces.set(each, [{ sequence: Number.POSITIVE_INFINITY, points }])
  for (const { name, sequence } of runs) {
    await readRun(storage, name, series, (each, points) => pieces.get(each)?.push({ sequence, points }))
  }
  return pieces
}

/** The points are settled. */
function between(points: Points, from: number, to: number): Points {
  const part = new Points(1)
  part.append(points, points.indexAt(from), points.indexAt(to))
  return part
}
