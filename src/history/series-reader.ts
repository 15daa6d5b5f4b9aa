import type { Piece, Pieces } from '#history/blocks'
import type { Columns } from '#history/columns'
import { readRun } from '#history/pages'
import { Points } from '#history/points'
import type { Run } from '#history/runs'
import type { Storage } from '#runtime/storage'

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
