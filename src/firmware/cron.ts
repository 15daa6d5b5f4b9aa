import { Cron } from 'croner'

/** When schedules come, in UTC whatever the machine's zone is. Contract 6, Options. */

/** 29 February comes within eight years. A search to the end of the calendar takes 27 ms where no time is found. */
const yearsAhead = 10

/** The first time that a pattern names after a moment, Unix ms; undefined for none within ten years, or for what is no pattern. */
export function nextTime(cron: string, after: number): number | undefined {
  const from = new Date(after)
  return patternOf(cron, from.getUTCFullYear())?.nextRun(from)?.getTime()
}

/** Whether a window is open: `minutes` from each time on that `cron` names. No window is always open. */
export function isOpen(window: { readonly cron: string; readonly minutes: number } | undefined, now: number): boolean {
  if (!window) return true
  const begun = nextTime(window.cron, now - window.minutes * 60_000)
  return begun !== undefined && begun <= now
}

/** One that does nothing by itself: without a function it schedules nothing. */
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
