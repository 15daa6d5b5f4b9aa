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

/** Of all ends. */
const seldomShareMax = 0.1

export interface EndRules {
  /** No other end may be. */
  readonly allowed: readonly string[]
  /** Nor these, beyond a few in a hundred of all. */
  readonly seldom?: readonly string[]
  /** Of each of these lists at least one was seen: else nothing was tried. */
  readonly needed: readonly (readonly string[])[]
}

/** What came of it that must not, or did not come that must; in words. */
export function endFaults(ends: Readonly<Ends>, { allowed, seldom = [], needed }: EndRules): readonly string[] {
  const sum = (hows: readonly string[]) => hows.reduce((all, how) => all + (ends[how] ?? 0), 0)
  const isSeldom = sum(seldom) <= sum(Object.keys(ends)) * seldomShareMax
  const others = Object.entries(ends).filter(([how]) => !allowed.includes(how) && !(isSeldom && seldom.includes(how)))
  const missing = needed.filter((some) => !some.some((how) => (ends[how] ?? 0) > 0))
  return [
    ...others.map(([how, times]) => `${times} ended by '${how}'`),
    ...missing.map((some) => `nothing ended by '${some.join("' or '")}'`),
  ]
}
