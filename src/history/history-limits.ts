import { dayMs } from '#history/history-keys'

export interface HistoryLimits {
  /** The number of points in memory at which they are stored. */
  readonly unstoredMax: number
  /** The number of runs of one level at which they are merged. */
  readonly runsMax: number
  readonly blockPointsMin: number
  /** How long points are kept, and (`hoursMs`) summaries of hours. */
  readonly rawMs: number
  readonly hoursMs: number
  /** The largest size of all history on the disk. Infinity: no limit. */
  readonly bytesMax: number
}

export const defaultLimits: HistoryLimits = {
  unstoredMax: 262_144,
  runsMax: 16,
  blockPointsMin: 256,
  rawMs: 30 * dayMs,
  hoursMs: 730 * dayMs,
  bytesMax: Number.POSITIVE_INFINITY,
}
