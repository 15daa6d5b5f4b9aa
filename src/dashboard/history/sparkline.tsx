import { clock } from '#dashboard/components/time'
import { useObservable } from '#dashboard/components/use-observable'
import { height, linePoints, type SparklinePoints, width } from '#dashboard/history/sparkline-points'
import '#dashboard/history/history.css'

export interface SparklineProps {
  readonly points: SparklinePoints | undefined
  /** The value now, at which the line ends. */
  readonly current: number | undefined
}

/** In this time the line moves once, by one pixel: an hour is 120 pixels wide. */
const stepMs = 30_000

/** The last hour of a number, as a small line. Only decoration, because the value is next to it. */
export function Sparkline({ points, current }: SparklineProps) {
  const now = Math.floor(useObservable(clock) / stepMs) * stepMs
  const line = linePoints(points, current, now)
  if (line.length < 2) return <span class="sparkline" />
  const path = line.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(' ')
  const [[first = 0] = [], [last = 0] = []] = [line[0], line.at(-1)]
  return (
    <svg class="sparkline" viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
      <polygon points={`${first},${height} ${path} ${last},${height}`} />
      <polyline points={path} />
    </svg>
  )
}
