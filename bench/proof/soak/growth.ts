import { spreadOf } from '#bench/harness/statistics'

/** A measured quantity of the server, and how much it may grow. */
export interface Gauge {
  readonly title: string
  readonly unit: string
  /** Of what is read, one unit. */
  readonly scale: number
  readonly digits: number
  /** It grows when the least that its slope may be is above this. Units a minute. */
  readonly growthMax: number
  /** It is not known whether it grows when the most that its slope may be is above this. Units a minute. */
  readonly doubtMax?: number
}

const megabytes = { unit: 'MB', scale: 1e6 } as const

/**
 * The bounds allow for data that the server keeps for a day: when to forget the results of actions, and sessions (some 150 a
 * minute, of 160 bytes), and names of mails (200 a minute, of 60, up to 10 000). Otherwise they are the least that half an hour
 * can tell from noise.
 */
export const gauges = {
  live: { title: 'memory in use after a collection', ...megabytes, digits: 1, growthMax: 0.1, doubtMax: 1 },
  code: { title: 'compiled code', ...megabytes, digits: 1, growthMax: 0.5 },
  resident: { title: 'resident memory', ...megabytes, digits: 0, growthMax: 0.5, doubtMax: 5 },
  own: { title: 'of that, without mapped files and LevelDB', ...megabytes, digits: 0, growthMax: 0.5, doubtMax: 5 },
  descriptors: { title: 'open descriptors', unit: '', scale: 1, digits: 0, growthMax: 0.5, doubtMax: 5 },
  database: { title: 'database', ...megabytes, digits: 0, growthMax: 5 },
} as const satisfies Readonly<Record<string, Gauge>>

export type GaugeName = keyof typeof gauges

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
function mediansOfSpans(points: readonly Point[], spans: number): readonly Point[] {
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
