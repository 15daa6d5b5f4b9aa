import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { OpenWindows } from '#firmware/embedded-update-server'
import { isOpen } from '#firmware/schedule'

const at = (text: string) => Date.parse(`${text}Z`)

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
    const windows = new OpenWindows()
    for (const [text, open] of moments) {
      expect(isOpen(window, at(text)), text).toBe(open)
      expect(windows.isOpen(window, at(text)), text).toBe(open)
    }
  })

  test('that is absent is open', () => {
    expect([isOpen(undefined, 0), new OpenWindows().isOpen(undefined, 0)]).toEqual([true, true])
  })

  test('has the same state with and without the cache, also if the clock is set back', () => {
    const cron = fc.constantFrom('0 * * * *', '*/20 3 * * *', '0 23 * * SUN', '15 30 2 29 2 *', '0 0 30 2 *')
    const step = fc.oneof(
      fc.integer({ min: -30 * 60_000, max: 3 * 60 * 60_000 }),
      fc.integer({ min: -86_400_000, max: 9 * 86_400_000 }),
    )
    fc.assert(
      fc.property(cron, fc.constantFrom(1, 30, 90, 10_080), fc.array(step), (pattern, minutes, steps) => {
        const windows = new OpenWindows()
        const window = { cron: pattern, minutes }
        let now = at('2028-02-20T00:00')
        for (const ms of steps) {
          now += ms
          expect(windows.isOpen(window, now)).toBe(isOpen(window, now))
        }
      }),
      { numRuns: 100 },
    )
  })
})
