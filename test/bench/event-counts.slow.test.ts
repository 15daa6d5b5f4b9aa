import fc from 'fast-check'
import { expect, test } from 'vitest'
import { EventCounts } from '#bench/load/event-counts'

test('the least and the sum equal those of all counts', () => {
  const step = fc.record({ place: fc.nat(4), events: fc.nat(3) })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5 }), fc.array(step, { maxLength: 80 }), (dashboards, steps) => {
      const counts = new EventCounts(dashboards)
      const plain = Array.from({ length: dashboards }, () => 0)
      for (const { place, events } of steps) {
        const at = place % dashboards
        counts.add(at, events)
        plain[at] = (plain[at] as number) + events
        expect([counts.least, counts.sum]).toEqual([Math.min(...plain), plain.reduce((sum, count) => sum + count, 0)])
      }
      counts.clear()
      expect([counts.least, counts.sum]).toEqual([0, 0])
      for (let at = 0; at < dashboards; at++) counts.add(at, at + 1)
      expect(counts.least).toBe(1)
    }),
  )
})

test('the least of no counts is infinite', () => {
  expect(new EventCounts(0).least).toBe(Infinity)
})
