import type { WrongFactors } from '#actors/account/state'
import { Problem } from '#model/problem'

/** Contract 2: 20 wrong factors a day an account, with growing delay. The day begins with the first of them. */
export const wrongFactorsMax = 20
const dayMs = 24 * 60 * 60 * 1000
/** So many cost nothing: people mistype. */
const wrongWithoutDelay = 2
const delayMsMax = 15 * 60 * 1000

/** With one more that was wrong. */
export function wrongAgain(wrong: WrongFactors | null, now: number): WrongFactors {
  if (!wrong || isDayOver(wrong, now)) return { since: now, count: 1, last: now }
  return { since: wrong.since, count: wrong.count + 1, last: now }
}

/** Milliseconds until the next factor is looked at; 0: at once. The third wrong one costs a second, each further twice that. */
export function factorDelayMs(wrong: WrongFactors | null, now: number): number {
  if (!wrong || isDayOver(wrong, now) || wrong.count <= wrongWithoutDelay) return 0
  const dayEndsAt = wrong.since + dayMs
  if (wrong.count >= wrongFactorsMax) return dayEndsAt - now
  const delayMs = Math.min(1_000 * 2 ** (wrong.count - wrongWithoutDelay - 1), delayMsMax)
  return Math.max(0, Math.min(wrong.last + delayMs, dayEndsAt) - now)
}

/** The refusal of a factor that comes too early; undefined for one that may be looked at. */
export function tooEarly(wrong: WrongFactors | null, now: number): Problem | undefined {
  const delayMs = factorDelayMs(wrong, now)
  if (delayMs === 0) return undefined
  const headers = { 'Retry-After': String(Math.ceil(delayMs / 1_000)) }
  return new Problem('too_many_requests', 'too many attempts', { headers })
}

function isDayOver({ since }: WrongFactors, now: number): boolean {
  return now >= since + dayMs
}
