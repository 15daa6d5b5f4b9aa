import type { SparklinePoints } from '#dashboard/history/sparkline-cache'

/** The size of a sparkline, in its own coordinates. */
export const [width, height] = [120, 28]
const margin = 3
const hourMs = 3_600_000

/** The line of the last hour, from left to right; the largest value is at the top. */
export function linePoints(
  points: SparklinePoints | undefined,
  current: number | undefined,
  now: number,
): readonly (readonly [x: number, y: number])[] {
  const all: [number, number][] = []
  for (const [index, time] of (points?.time ?? []).entries()) {
    const value = points?.avg[index]
    if (value != null && time > now - hourMs && time < now) all.push([time, value])
  }
  if (current !== undefined && points) {
    // A value that was not reported within the hour did not change.
    if (all.length === 0) all.push([now - hourMs, current])
    all.push([now, current])
  }
  const values = all.map(([, value]) => value)
  const [low, high] = [Math.min(...values), Math.max(...values)]
  return all.map(([time, value]) => {
    const share = high === low ? 0.5 : (value - low) / (high - low)
    return [width * (1 - (now - time) / hourMs), height - margin - share * (height - 2 * margin)]
  })
}
