import { spreadOf } from '#bench/harness/statistics'
import type { Gauge } from '#bench/proof/soak/gauges'
import { mediansOfSpans, type Point, pointsMin, type Slope, slopeOf } from '#bench/proof/soak/slope'

/** How one gauge went on once the server was warm, in its units. */
export interface Growth {
  readonly median: number
  readonly min: number
  readonly max: number
  readonly slope: Slope
  /** Why it is not known to stay where it is. */
  readonly problem?: string
}

/** About a minute each in half an hour. */
const spans = 24

/** `points`: since the server is warm. Undefined for too few. */
export function growthOf(gauge: Gauge, points: readonly Point[]): Growth | undefined {
  const scaled = points.map(({ minutes, value }) => ({ minutes, value: value / gauge.scale }))
  const medians = mediansOfSpans(scaled, spans)
  if (medians.length < pointsMin) return undefined
  const slope = slopeOf(medians)
  const problem = problemOf(gauge, slope)
  return { ...spreadOf(scaled.map(({ value }) => value)), slope, ...(problem !== undefined && { problem }) }
}

function problemOf({ title, growthMax, doubtMax = Number.POSITIVE_INFINITY, ...gauge }: Gauge, slope: Slope) {
  if (growthMax === undefined) return undefined
  if (slope.low > growthMax) return `${title}: grows, by ${slopeText(gauge, slope)}, and may by ${growthMax}`
  if (slope.high > doubtMax)
    return `${title}: it is not known whether it grows: by ${slopeText(gauge, slope)}; try for longer`
  return undefined
}

/** `+0.02 MB a minute (−0.10 to +0.15)` */
export function slopeText({ unit }: Pick<Gauge, 'unit'>, { perMinute, low, high }: Slope): string {
  return `${signed(perMinute)}${unit && ` ${unit}`} a minute (${signed(low)} to ${signed(high)})`
}

function signed(value: number): string {
  const text = Math.abs(value).toFixed(2)
  if (Number(text) === 0) return text
  return `${value < 0 ? '−' : '+'}${text}`
}
