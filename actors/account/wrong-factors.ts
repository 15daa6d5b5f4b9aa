import type { WrongFactors } from '#actors/account/state'
import { Problem } from '#model/problem'

/**
 * Contract 2: at most 20 wrong factors a day and account, with growing delays. The day begins with the first wrong
 * factor.
 */
export const wrongFactorsMax = 20
const dayMs = 24 * 60 * 60 * 1000
/** Typing errors cost no delay. */
const wrongWithoutDelay = 2
const delayMsMax = 15 * 60 * 1000

/** Adds one wrong factor. */
export function wrongAgain(wrong: WrongFactors | null, now: number): WrongFactors {
  if (!wrong || isDayOver(wrong, now)) return { since: now, count: 1, last: now }
  return { since: wrong.since, count: wrong.count + 1, last: now }
}

/**
 * Milliseconds until the next factor is checked; 0 for no delay. The third wrong factor causes a delay of one second,
 * each further one doubles it.
 */
export function factorDelayMs(wrong: WrongFactors | null, now: number): number {
  if (!wrong || isDayOver(wrong, now) || wrong.count <= wrongWithoutDelay) return 0
  const dayEndsAt = wrong.since + dayMs
  if (wrong.count >= wrongFactorsMax) return dayEndsAt - now
  const delayMs = Math.min(1_000 * 2 ** (wrong.count - wrongWithoutDelay - 1), delayMsMax)
  return Math.max(0, Math.min(wrong.last + delayMs, dayEndsAt) - now)
}

/** The refusal of a factor that came before the delay was over; undefined if the factor may be checked. */
export function tooEarly(wrong: WrongFactors | null, now: number): Problem | undefined {
  const delayMs = factorDelayMs(wrong, now)
  if (delayMs === 0) return undefined
  const headers = { 'Retry-After': String(Math.ceil(delayMs / 1_000)) }
  return new Problem('too_many_requests', 'too many attempts', { headers })
}

function isDayOver({ since }: WrongFactors, now: number): boolean {
  return now >= since + dayMs
}
