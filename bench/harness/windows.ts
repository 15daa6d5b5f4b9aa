import { allowedMs } from '#bench/harness/allowed'
import { loadFigure } from '#bench/harness/question'
import { spreadOf } from '#bench/harness/statistics'
import type { PhaseResult } from '#bench/load/ingest'

/**
 * What events took while something else went on, held against what they took without it, over short windows of both. A
 * machine that has other guests holds up whatever runs on it now and then: the window in the middle is not one of those, of
 * neither kind. The worst of those beside it is shown, as `heardP99Most`.
 */
export interface HeardBeside {
  readonly heardP50Before: number
  readonly heardP99Before: number
  readonly heardP50: number
  readonly heardP99: number
  readonly heardP99Most: number
  /** What p99 came to, of what it may come to: more than 1 is too much. */
  readonly ofLimit: number
}

type Window = Pick<PhaseResult, 'delivery'>

/** Milliseconds each; the window in the middle of all. */
export function heardBeside(without: readonly Window[], beside: readonly Window[]): HeardBeside {
  const middle = (windows: readonly Window[], of: 'p50' | 'p99') =>
    spreadOf(windows.map(({ delivery }) => delivery[of])).median
  const heardP99Before = middle(without, 'p99')
  const heardP99 = middle(beside, 'p99')
  return {
    heardP50Before: middle(without, 'p50'),
    heardP99Before,
    heardP50: middle(beside, 'p50'),
    heardP99,
    heardP99Most: spreadOf(beside.map(({ delivery }) => delivery.p99)).max,
    ofLimit: heardP99 / allowedMs(heardP99Before),
  }
}

/** How they are called in a report. */
export const heardBesideFigures = {
  heardP50Before: { title: 'heard p50 without, ms', digits: 1, isOfLoad: true },
  heardP99Before: { title: 'heard p99 without, ms', digits: 1, isOfLoad: true },
  heardP50: { title: 'heard p50, ms', digits: 1, isOfLoad: true },
  heardP99: { title: 'heard p99, ms', digits: 1, isOfLoad: true },
  heardP99Most: { title: 'heard p99 of the worst window, ms', digits: 1, isOfLoad: true },
  ofLimit: { title: 'heard p99 ÷ what it may be', digits: 2, isOfLoad: true },
} as const

/** Events, and what they cost, over all of several windows. */
export function costsOf(windows: readonly PhaseResult[]) {
  const sumOf = (figure: 'frames' | 'seconds' | 'serverCpuSeconds' | 'loadCpuSeconds') =>
    windows.reduce((sum, window) => sum + window[figure], 0)
  const seconds = sumOf('seconds')
  return {
    framesPerSecond: sumOf('frames') / seconds,
    serverCpu: (sumOf('serverCpuSeconds') / seconds) * 100,
    [loadFigure]: (sumOf('loadCpuSeconds') / seconds) * 100,
  }
}
