import type { Piece } from '#history/blocks'
import type { Columns } from '#history/columns'
import { readRun } from '#history/pages'
import { Points } from '#history/points'
import type { Run } from '#history/runs'
import type { Storage } from '#runtime/storage'

/** The points of each series; those that replace others come later. */
export type Pieces = ReadonlyMap<number, Piece[]>

/** Points that are not in blocks yet. The present state is taken at the call, before the first await. */
export async function readFresh(
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
export function between(points: Points, from: number, to: number): Points {
  const part = new Points(1)
  part.append(points, points.indexAt(from), points.indexAt(to))
  return part
}
