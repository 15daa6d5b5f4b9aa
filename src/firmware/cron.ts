import { Cron } from 'croner'

/** Times of schedules, in UTC on every machine. Contract 6, Options. */

/** 29 February comes within eight years. A search to the end of the calendar takes 27 ms if there is no match. */
const yearsAhead = 10

/**
 * The first matching time after a moment, Unix ms; undefined if there is none within ten years or the pattern is
 * invalid.
 */
export function nextTime(cron: string, after: number): number | undefined {
  const from = new Date(after)
  return patternOf(cron, from.getUTCFullYear())?.nextRun(from)?.getTime()
}

/** Whether a window is open: for `minutes` after each matching time of `cron`. Without a window: always open. */
export function isOpen(window: { readonly cron: string; readonly minutes: number } | undefined, now: number): boolean {
  if (!window) return true
  const begun = nextTime(window.cron, now - window.minutes * 60_000)
  return begun !== undefined && begun <= now
}

/** Without a function, it schedules nothing. */
function patternOf(cron: string, year: number): Cron | undefined {
  const fields = cron.split(/ +/)
  if (fields.length === 5) fields.unshift('0')
  if (fields.length !== 6) return undefined
  try {
    return new Cron([...fields, `${year}-${year + yearsAhead}`].join(' '), { timezone: 'UTC' })
  } catch {
    return undefined
  }
}
