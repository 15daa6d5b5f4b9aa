import { type Piece, type Pieces, piecesOfDay, pointsBetween, readDay } from '#history/blocks'
import { dayMs, dayOf } from '#history/history-keys'
import type { HistoryStore } from '#history/history-store'
import { Points } from '#history/points'

export interface PageRange {
  readonly from: number
  readonly to: number
  /** The limit of points of each series. */
  readonly limit: number
  /** The limit of characters in the texts of each series. One point may have more. */
  readonly charactersMax: number
  readonly isDescending: boolean
}

export interface RawPage {
  readonly points: ReadonlyMap<number, Points>
  /** Where the next page begins; in descending order, where it ends. */
  readonly cut: number | undefined
}

/**
 * The first points of some series and their marks. Days are read until one series has enough points. `fromOf` returns
 * the start of the span of one series.
 */
export async function readPage(
  { storage, pause }: Pick<HistoryStore, 'storage' | 'pause'>,
  fresh: Pieces,
  range: PageRange,
  fromOf: (id: number) => number,
): Promise<RawPage> {
  const { from, to, isDescending } = range
  const found = new Map([...fresh.keys()].map((id) => [id, new FirstPoints({ ...range, from: fromOf(id) })]))
  const count = from < to ? dayOf(to - 1) - dayOf(from) + 1 : 0
  const days = Array.from({ length: count }, (_, place) => dayOf(from) + place)
  for (const day of isDescending ? days.reverse() : days) {
    for (const [id, first] of found) {
      const isOfMarks = id % 2 === 1
      const { blocks = [], markBlocks = [] } = readDay(storage, isOfMarks ? id - 1 : id, day) ?? {}
      const sequences = isOfMarks ? markBlocks : blocks
      for (const piece of piecesOfDay(storage, id, day, sequences, fresh.get(id) ?? [])) first.add(piece, day)
      first.shorten()
    }
    await pause()
    const cuts = [...found.values()].flatMap(({ cut }) => (cut === undefined ? [] : [cut]))
    if (cuts.length === 0) continue
    const cut = isDescending ? Math.max(...cuts) : Math.min(...cuts)
    const kept = isDescending ? ([cut, to] as const) : ([from, cut] as const)
    return { points: new Map([...found].map(([id, { points }]) => [id, pointsBetween(points, ...kept)])), cut }
  }
  return { points: new Map([...found].map(([id, { points }]) => [id, points])), cut: undefined }
}

/** The points of one series that come first, in a limited amount of memory. */
class FirstPoints {
  readonly #range: PageRange
  #from: number
  #to: number
  points = new Points(1)
  #characters = 0
  /** Points from this time on were left out; in descending order, points before it. */
  cut: number | undefined

  constructor(range: PageRange) {
    this.#range = range
    this.#from = range.from
    this.#to = range.to
  }

  /** Adds points of a day, which replace points that were added before. */
  add({ points }: Piece, day: number): void {
    const [from, to] = [Math.max(this.#from, day * dayMs), Math.min(this.#to, (day + 1) * dayMs)]
    if (from >= to) return
    const part = pointsBetween(points, from, to)
    this.points.append(part)
    for (const text of part.texts.values()) this.#characters += text.length
    const { limit, charactersMax } = this.#range
    if (this.points.count > 2 * limit || this.#characters > 2 * charactersMax) this.shorten()
  }

  shorten(): void {
    const { limit, charactersMax, isDescending } = this.#range
    this.points.settle()
    const { points } = this
    const { count } = points
    let kept = 0
    this.#characters = 0
    for (; kept < Math.min(limit, count); kept++) {
      const length = points.texts.get(isDescending ? count - 1 - kept : kept)?.length ?? 0
      if (kept > 0 && this.#characters + length > charactersMax) break
      this.#characters += length
    }
    if (kept === count) return
    if (isDescending) this.#from = (points.times[count - 1 - kept] as number) + 1
    else this.#to = points.times[kept] as number
    this.cut = isDescending ? this.#from : this.#to
    this.points = pointsBetween(points, this.#from, this.#to)
  }
}
