import { spreadOf } from '#bench/harness/statistics'

/** A measured quantity of the server, and how much it may grow. */
export interface Gauge {
  readonly title: string
  /** The value of one unit in what is read. */
  readonly scale: number
  /** It grows when the lower bound of its slope is above this. Units a minute. */
  readonly growthMax: number
}

/**
 * The bounds allow for data that the server keeps for a day: expiry times of action results and of sessions (some 150 a
 * minute, of 160 bytes), and names of mails (200 a minute, of 60 bytes, up to 10 000). Otherwise they are the least
 * that half an hour can distinguish from noise.
 */
export const gauges = {
  live: { title: 'memory in use after a collection, MB', scale: 1e6, growthMax: 0.1 },
  resident: { title: 'resident memory, MB', scale: 1e6, growthMax: 0.5 },
  descriptors: { title: 'open descriptors', scale: 1, growthMax: 0.5 },
  database: { title: 'database, MB', scale: 1e6, growthMax: 5 },
} as const satisfies Readonly<Record<string, Gauge>>

export type GaugeName = keyof typeof gauges

/** A value and its time in minutes since some start. */
export interface Point {
  readonly minutes: number
  readonly value: number
}

export interface Growth {
  readonly perMinute: number
  /** With the 95 % confidence interval. */
  readonly text: string
  readonly problem?: string
}

/** About a minute each in half an hour. */
const spans = 24
/** Fewer give no interval. */
const pointsMin = 8
/** 95 % of a normal distribution lie within this many standard deviations. */
const deviations95 = 1.96

/** `points`: after warm-up. */
export function growthOf({ title, scale, growthMax }: Gauge, points: readonly Point[]): Growth {
  const scaled = points.map(({ minutes, value }) => ({ minutes, value: value / scale }))
  const medians = mediansOfSpans(scaled)
  if (medians.length < pointsMin) {
    const problem = `${title}: was read ${points.length} times only`
    return { perMinute: Number.NaN, text: problem, problem }
  }
  const { perMinute, low, high } = slopeOf(medians)
  const { median, min, max } = spreadOf(scaled.map(({ value }) => value))
  const [middle, least, most, slope, lowest, highest] = [median, min, max, perMinute, low, high].map((value) =>
    value.toFixed(2),
  )
  const text = `${title}: ${middle} (${least} to ${most}), growth ${slope} a minute (${lowest} to ${highest})`
  return { perMinute, text, ...(low > growthMax && { problem: `${text}: may be ${growthMax}` }) }
}

/**
 * The Theil–Sen slope: the median of the slopes of all pairs. A third of the points may be outliers, such as a
 * collection or a compaction, without an effect. The interval is Sen's, from the variance of Kendall's S. Sen 1968,
 * "Estimates of the regression coefficient based on Kendall's tau".
 */
export function slopeOf(points: readonly Point[]) {
  const slopes = points
    .flatMap((one, place) => points.slice(place + 1).map((other) => slopeBetween(one, other)))
    .filter(Number.isFinite)
    .sort((a, b) => a - b)
  const { length: count } = points
  const reach = deviations95 * Math.sqrt((count * (count - 1) * (2 * count + 5)) / 18)
  const at = (place: number) => slopes[Math.min(slopes.length - 1, Math.max(0, place))] as number
  return {
    perMinute: spreadOf(slopes).median,
    low: at(Math.floor((slopes.length - reach) / 2)),
    high: at(Math.ceil((slopes.length + reach) / 2)),
  }
}

/**
 * Medians of spans of equal length; spans without points are left out. Consecutive points of a saw-tooth are
 * correlated, and an interval that treats them as independent is too narrow: spans longer than its teeth are not.
 */
function mediansOfSpans(points: readonly Point[]): readonly Point[] {
  const times = points.map(({ minutes }) => minutes)
  const [first, last] = [Math.min(...times), Math.max(...times)]
  const spanOf = ({ minutes }: Point) => Math.min(spans - 1, Math.floor(((minutes - first) / (last - first)) * spans))
  const medianOf = (values: readonly number[]) => spreadOf(values).median
  return Array.from({ length: spans }, (_, span) => points.filter((point) => spanOf(point) === span))
    .filter((within) => within.length > 0)
    .map((within) => ({
      minutes: medianOf(within.map(({ minutes }) => minutes)),
      value: medianOf(within.map(({ value }) => value)),
    }))
}

function slopeBetween(one: Point, other: Point): number {
  // Adding 0 turns −0 into 0.
  return (other.value - one.value) / (other.minutes - one.minutes) + 0
}
