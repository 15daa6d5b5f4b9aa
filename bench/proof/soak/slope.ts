import { spreadOf } from '#bench/harness/statistics'

/** What something was, and when: minutes since some beginning. */
export interface Point {
  readonly minutes: number
  readonly value: number
}

/** How fast something grows, each minute. */
export interface Slope {
  readonly perMinute: number
  /** It lies between these in 95 of 100 cases, if what disturbs one point does not disturb the next. */
  readonly low: number
  readonly high: number
}

/** Fewer say nothing of how far off they are. */
export const pointsMin = 8
/** Standard deviations within which 95 of 100 values of a normal distribution lie. */
const deviations95 = 1.96

/**
 * A line through points by Theil and Sen: the median of the slopes of all pairs. A third of the points may be anything, and
 * it stays where it is: what has another shape than the rest, a collection, a compaction, does not turn it. The interval is
 * Sen's, from by how much Kendall's S is off by chance. Sen 1968, "Estimates of the regression coefficient based on Kendall's
 * tau".
 *
 * @throws RangeError for too few points
 */
export function slopeOf(points: readonly Point[]): Slope {
  const count = points.length
  if (count < pointsMin) throw new RangeError(`${count} points are too few for a line: at least ${pointsMin}`)
  const slopes = points
    .flatMap((point, place) => points.slice(place + 1).map((other) => slopeBetween(point, other)))
    .filter(Number.isFinite)
    .sort((a, b) => a - b)
  const pairs = slopes.length
  const reach = deviations95 * Math.sqrt((count * (count - 1) * (2 * count + 5)) / 18)
  const at = (place: number) => slopes[Math.min(pairs - 1, Math.max(0, place))] as number
  return {
    perMinute: spreadOf(slopes).median,
    low: at(Math.floor((pairs - reach) / 2)),
    high: at(Math.ceil((pairs + reach) / 2)),
  }
}

/**
 * The medians of so many spans of the same length; none of a span without a point. Points in quick succession say much the
 * same of a saw-tooth, and an interval that takes each for a word of its own is too narrow: spans longer than its teeth don't.
 */
export function mediansOfSpans(points: readonly Point[], spans: number): readonly Point[] {
  const times = points.map(({ minutes }) => minutes)
  const [first, last] = [Math.min(...times), Math.max(...times)]
  const spanOf = ({ minutes }: Point) => Math.min(spans - 1, Math.floor(((minutes - first) / (last - first)) * spans))
  return Array.from({ length: spans }, (_, span) => points.filter((point) => spanOf(point) === span))
    .filter((within) => within.length > 0)
    .map((within) => ({
      minutes: spreadOf(within.map(({ minutes }) => minutes)).median,
      value: spreadOf(within.map(({ value }) => value)).median,
    }))
}

function slopeBetween(one: Point, other: Point): number {
  // There is one zero of slopes, and not two.
  return (other.value - one.value) / (other.minutes - one.minutes) + 0
}
