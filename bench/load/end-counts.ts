/**
 * How often requests and connections ended in each way: HTTP statuses, `close 1013` of websockets, otherwise a text.
 */
export type EndCounts = Record<string, number>

export function count(ends: EndCounts, how: string, times = 1): void {
  if (times > 0) ends[how] = (ends[how] ?? 0) + times
}

export function addEnds(into: EndCounts, more: Readonly<EndCounts>): void {
  for (const [how, times] of Object.entries(more)) count(into, how, times)
}

export function endsText(ends: Readonly<EndCounts>): string {
  const sorted = Object.entries(ends).sort(([, one], [, other]) => other - one)
  return sorted.length === 0 ? 'nothing' : sorted.map(([how, times]) => `${times} × ${how}`).join(', ')
}

/** The limit for rare ends, as a share of all ends of their kind. The kind is the text before the first colon. */
const rareShareDefault = 0.1
/** This number of rare ends of a kind is always permitted. */
const rareTimes = 2

export interface EndRules {
  /** Ends that may occur any number of times. */
  readonly allowed: readonly string[]
  /** Ends that together may have a share of `rareShareMax` in their kind; default: one in ten. */
  readonly rare?: readonly string[]
  readonly rareShareMax?: number
  /** At least one end of each of these lists must occur: otherwise the run proves nothing. */
  readonly needed: readonly (readonly string[])[]
}

/** Describes forbidden ends and missing required ones. */
export function endFaults(ends: Readonly<EndCounts>, rules: EndRules): readonly string[] {
  const { allowed, rare = [], rareShareMax = rareShareDefault, needed } = rules
  const others = Object.entries(ends).filter(([how]) => {
    return !allowed.includes(how) && !(rare.includes(how) && areFew(rare, kindOf(how), ends, rareShareMax))
  })
  const missing = needed.filter((some) => !some.some((how) => (ends[how] ?? 0) > 0))
  return [
    ...others.map(([how, times]) => `${times} ended by '${how}'`),
    ...missing.map((some) => `nothing ended by '${some.join("' or '")}'`),
  ]
}

/** Whether these ends of a kind are rare enough. */
function areFew(hows: readonly string[], kind: string, ends: Readonly<EndCounts>, shareMax: number): boolean {
  const alike = Object.entries(ends).filter(([how]) => kindOf(how) === kind)
  const sum = (some: readonly (readonly [string, number])[]) => some.reduce((all, [, times]) => all + times, 0)
  return sum(alike.filter(([how]) => hows.includes(how))) <= Math.max(rareTimes, sum(alike) * shareMax)
}

function kindOf(how: string): string {
  return how.includes(': ') ? how.slice(0, how.indexOf(': ')) : ''
}
