import { Cron } from 'croner'

/** When schedules come, in UTC whatever the machine's zone is. Contract 6, Options. */

/** What comes later than in ten years (29 February comes within eight) does not come. */
const aheadMsMax = 10 * 366 * 86_400_000

/** The first time that a pattern names after a moment, Unix ms; undefined for none, or for what is no pattern. */
export function nextTime(cron: string, after: number): number | undefined {
  const next = patternOf(cron)?.nextRun(new Date(after))?.getTime()
  return next !== undefined && next <= after + aheadMsMax ? next : undefined
}

/** Whether a window is open: `minutes` from each time on that `cron` names. No window is always open. */
export function isOpen(window: { readonly cron: string; readonly minutes: number } | undefined, now: number): boolean {
  if (!window) return true
  const begun = nextTime(window.cron, now - window.minutes * 60_000)
  return begun !== undefined && begun <= now
}

/** One that does nothing by itself: without a function it schedules nothing. */
function patternOf(cron: string): Cron | undefined {
  try {
    return new Cron(cron, { timezone: 'UTC' })
  } catch {
    return undefined
  }
}
