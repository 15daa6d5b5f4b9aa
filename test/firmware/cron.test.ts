import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isOpen, nextTime } from '#firmware/schedule'

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

describe('a window', () => {
  test.each([
    [
      'across midnight',
      { cron: '0 23 * * MON', minutes: 120 },
      [
        ['2026-01-05T22:59:59.999', false],
        ['2026-01-05T23:00', true],
        ['2026-01-06T00:59:59.999', true],
        ['2026-01-06T01:00', false],
      ],
    ],
    ['that never opens', { cron: '0 0 30 2 *', minutes: 10_080 }, [['2026-03-01T00:00', false]]],
    [
      'longer than its period',
      { cron: '0 * * * *', minutes: 90 },
      [
        ['2026-01-05T22:00', true],
        ['2026-01-05T22:59:59.999', true],
        ['2026-01-05T23:30', true],
      ],
    ],
    [
      'longer than its period, only at night',
      { cron: '0 1,2 * * *', minutes: 90 },
      [
        ['2026-01-05T00:59:59.999', false],
        ['2026-01-05T01:00', true],
        ['2026-01-05T02:45', true],
        ['2026-01-05T03:29:59.999', true],
        ['2026-01-05T03:30', false],
      ],
    ],
  ] as const)('%s', (_, window, moments) => {
    for (const [text, open] of moments) {
      expect(isOpen(window, at(text)), text).toBe(open)
    }
  })

  test('that is absent is open', () => {
    expect(isOpen(undefined, 0)).toBe(true)
  })

  test('has the same state with and without the cache, also if the clock is set back', () => {
    const cron = fc.constantFrom('0 * * * *', '*/20 3 * * *', '0 23 * * SUN', '15 30 2 29 2 *', '0 0 30 2 *')
    const step = fc.oneof(
      fc.integer({ min: -30 * 60_000, max: 3 * 60 * 60_000 }),
      fc.integer({ min: -86_400_000, max: 9 * 86_400_000 }),
    )
    fc.assert(
      fc.property(cron, fc.constantFrom(1, 30, 90, 10_080), fc.array(step), (pattern, minutes, steps) => {
        const window = { cron: pattern, minutes }
        let now = at('2028-02-20T00:00')
        for (const ms of steps) {
          now += ms
          expect(isOpen(window, now)).toBe(isOpen({ ...window }, now))
        }
      }),
      { numRuns: 100 },
    )
  })
})
