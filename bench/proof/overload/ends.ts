/** How often something ended in each way: statuses of HTTP, `close 1013` of websockets, else in words. */
export type Ends = Record<string, number>

export function count(ends: Ends, how: string, times = 1): void {
  if (times > 0) ends[how] = (ends[how] ?? 0) + times
}

export function addEnds(into: Ends, more: Readonly<Ends>): void {
  for (const [how, times] of Object.entries(more)) count(into, how, times)
}

/** The most frequent first. */
export function endsText(ends: Readonly<Ends>): string {
  const sorted = Object.entries(ends).sort(([, one], [, other]) => other - one)
  return sorted.length === 0 ? 'nothing' : sorted.map(([how, times]) => `${times} × ${how}`).join(', ')
}

/** Of all that is of one kind, which stands before the first colon of an end. */
const usualShareMax = 0.1
/** Where there are but a handful of a kind. */
const seldomTimes = 2

export interface EndRules {
  /** No other end may be. */
  readonly allowed: readonly string[]
  /** Nor these, but for one in ten of their kind, or for `seldomShareMax` of it. */
  readonly seldom?: readonly string[]
  readonly seldomShareMax?: number
  /** Of each of these lists at least one was seen: else nothing was tried. */
  readonly needed: readonly (readonly string[])[]
}

/** What came of it that must not, or did not come that must; in words. */
export function endFaults(ends: Readonly<Ends>, rules: EndRules): readonly string[] {
  const { allowed, seldom = [], seldomShareMax = usualShareMax, needed } = rules
  const others = Object.entries(ends).filter(([how]) => {
    return !allowed.includes(how) && !(seldom.includes(how) && areFew(seldom, kindOf(how), ends, seldomShareMax))
  })
  const missing = needed.filter((some) => !some.some((how) => (ends[how] ?? 0) > 0))
  return [
    ...others.map(([how, times]) => `${times} ended by '${how}'`),
    ...missing.map((some) => `nothing ended by '${some.join("' or '")}'`),
  ]
}

/** Whether of a kind so few ended in one of these ways as may be. */
function areFew(hows: readonly string[], kind: string, ends: Readonly<Ends>, shareMax: number): boolean {
  const alike = Object.entries(ends).filter(([how]) => kindOf(how) === kind)
  const sum = (some: readonly (readonly [string, number])[]) => some.reduce((all, [, times]) => all + times, 0)
  return sum(alike.filter(([how]) => hows.includes(how))) <= Math.max(seldomTimes, sum(alike) * shareMax)
}

function kindOf(how: string): string {
  return how.includes(': ') ? how.slice(0, how.indexOf(': ')) : ''
}
