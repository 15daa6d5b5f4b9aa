import { describe, expect, test } from 'vitest'
import { nextTime } from '#firmware/schedule'

const at = (text: string) => Date.parse(`${text}Z`)
const shown = (time: number | undefined) => time && new Date(time).toISOString().slice(0, 19)

describe('the next time', () => {
  test.each([
    ['every minute', '* * * * *', '2026-11-21T10:00:00', '2026-11-21T10:01:00'],
    ['strictly behind the moment', '0 10 * * *', '2026-11-21T10:00:00', '2026-11-22T10:00:00'],
    ['within a second', '0 10 * * *', '2026-11-21T09:59:59.999', '2026-11-21T10:00:00'],
    ['with seconds', '*/20 * * * * *', '2026-11-21T10:00:45', '2026-11-21T10:01:00'],
    ['on a weekday', '0 2 * * MON', '2026-11-21T10:00:00', '2026-11-23T02:00:00'],
    ['on a leap day', '0 0 29 2 *', '2026-11-21T10:00:00', '2028-02-29T00:00:00'],
    ['over eight years without one', '0 0 29 2 *', '2096-03-01T00:00:00', '2104-02-29T00:00:00'],
    ['over the end of summer time', '30 1,2 * * *', '2026-10-25T01:30:00', '2026-10-25T02:30:00'],
  ])('%s', (_, cron, after, next) => {
    expect(shown(nextTime(cron, at(after)))).toBe(next)
  })

  test.each(['0 0 30 2 *', '0 0 31 4,6 *', '61 * * * *', 'a b c d e', '', '* * *'])('of %j never comes', (cron) => {
    expect(nextTime(cron, at('2026-11-21T10:00:00'))).toBeUndefined()
  })
})
