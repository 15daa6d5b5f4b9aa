import { spreadOf } from '#bench/harness/statistics'

/** A measured quantity of the server, and how much it may grow. */
export interface Gauge {
  readonly title: string
  readonly unit: string
  /** The value of one unit in what is read. */
  readonly scale: number
  readonly digits: number
  /** It grows when the lower bound of its slope is above this. Units a minute. */
  readonly growthMax: number
  /** The measurement is too noisy when the upper bound of its slope is above this. Units a minute. */
  readonly doubtMax?: number
}

const megabytes = { unit: 'MB', scale: 1e6 } as const

/**
 * The bounds allow for data that the server keeps for a day: expiry times of action results and of sessions (some 150 a
 * minute, of 160 bytes), and names of mails (200 a minute, of 60 bytes, up to 10 000). Otherwise they are the least
 * that half an hour can distinguish from noise.
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

/** The growth of one gauge after warm-up, in its units. */
export interface Growth {
  readonly median: number
  readonly min: number
  readonly max: number
  readonly slope: Slope
  /** Why it may not be constant. */
  readonly problem?: string
}

/** About a minute each in half an hour. */
const spans = 24

/** `points`: after warm-up. Undefined if there are too few. */
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

/** A value and its time in minutes since some start. */
export interface Point {
  readonly minutes: number
  readonly value: number
}

/** Growth each minute. */
export interface Slope {
  readonly perMinute: number
  /** 95 % confidence interval, if the errors of the points are independent. */
  readonly low: number
  readonly high: number
}

/** Fewer give no interval. */
export const pointsMin = 8
/** 95 % of a normal distribution lie within this many standard deviations. */
const deviations95 = 1.96

/**
 * The Theil–Sen slope: the median of the slopes of all pairs. A third of the points may be outliers, such as a
 * collection or a compaction, without an effect. The interval is Sen's, from the variance of Kendall's S. Sen 1968,
 * "Estimates of the regression coefficient based on Kendall's tau".
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
 * Medians of spans of equal length; spans without points are left out. Consecutive points of a saw-tooth are
 * correlated, and an interval that treats them as independent is too narrow: spans longer than its teeth are not.
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
  // Adding 0 turns −0 into 0.
  return (other.value - one.value) / (other.minutes - one.minutes) + 0
}
