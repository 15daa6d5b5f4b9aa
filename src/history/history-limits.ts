import { dayMs } from '#history/history-keys'

export interface HistoryLimits {
  /** The number of points in memory at which they are stored. */
  readonly unstoredMax: number
  /** The number of runs of one level at which they are merged. */
  readonly runsMax: number
  /** A merge stores a series with this many points in blocks. */
  readonly blockPointsMin: number
  /** How long points are kept. */
  readonly rawMs: number
  /** How long summaries of hours are kept. */
  readonly hoursMs: number
  /** The largest size of all history on the disk. Infinity: no limit. */
  readonly bytesMax: number
}

export const defaultLimits: HistoryLimits = {
  unstoredMax: 524_288,
  runsMax: 16,
  blockPointsMin: 256,
  rawMs: 30 * dayMs,
  hoursMs: 730 * dayMs,
  bytesMax: Number.POSITIVE_INFINITY,
}
