import { describe, expect, test } from 'vitest'
import { edgesOf, fixedSpan, ranges, shiftEdges, spanFault, tickText, zoomEdges } from '#dashboard/history/span'

const now = Date.parse('2026-03-01T12:00:00')
const [minute, hour, day] = [60_000, 3_600_000, 86_400_000]

describe('the span of a chart', () => {
  test('ends now for a range, and does not change if it is fixed', () => {
    expect(ranges.map(({ label }) => label)).toEqual(['1 h', '24 h', '7 d', '30 d', '1 y'])
    for (const range of ranges) expect(edgesOf(range, now)).toEqual({ from: now - range.lastMs, to: now })
    expect(edgesOf({ from: 1, to: 2 }, now)).toEqual({ from: 1, to: 2 })
  })

  test('keeps its middle when it is zoomed, and never includes the future', () => {
    const past = { from: now - 4 * hour, to: now - 2 * hour }
    expect(zoomEdges(past, 0.5, now)).toEqual({ from: now - 3.5 * hour, to: now - 2.5 * hour })
    expect(zoomEdges(past, 2, now)).toEqual({ from: now - 5 * hour, to: now - hour })
    expect(zoomEdges(past, 8, now)).toEqual({ from: now - 16 * hour, to: now })
  })

  test('moves by half of its length, and not beyond the present', () => {
    const past = { from: now - 4 * hour, to: now - 2 * hour }
    expect(shiftEdges(past, -1, now)).toEqual({ from: now - 5 * hour, to: now - 3 * hour })
    expect(shiftEdges(past, 1, now)).toEqual({ from: now - 3 * hour, to: now - hour })
    expect(shiftEdges({ from: now - hour, to: now }, 1, now)).toEqual({ from: now - hour, to: now })
  })

  test('has at least ten of the smallest buckets, and at most the length that the server accepts', () => {
    expect(fixedSpan({ from: now - hour, to: now - hour + 4_000 }, now)).toEqual({
      from: now - hour - 3_000,
      to: now - hour + 7_000,
    })
    const { from, to } = fixedSpan({ from: 0, to: now }, now)
    expect(to - from).toBe(9 * 365 * day)
  })

  test('has whole milliseconds after a drag, as the server requires', () => {
    const { from, to } = fixedSpan({ from: now - hour + 0.25, to: now - 0.375 }, now)
    expect([from, to].every(Number.isInteger)).toBe(true)
  })

  test.each([
    [{ from: 1, to: Number.NaN }, /date/],
    [{ from: Number.NaN, to: 1 }, /date/],
    [{ from: 5, to: 5 }, /after/],
    [{ from: 0, to: 10 * 365 * day }, /nine years/],
  ])('is refused for %o', (edges, fault) => {
    expect(spanFault(edges)).toMatch(fault)
  })

  test('is accepted for a day', () => {
    expect(spanFault({ from: 0, to: day })).toBeUndefined()
  })

  test.each([
    [15_000, '12:00:00'],
    [10 * minute, '12:00'],
    [day, '1 Mar'],
    [31 * day, 'Mar 2026'],
  ])('has at noon, with %i ms between ticks, the tick %s', (distance, text) => {
    expect(tickText(now, distance, 'en-GB')).toBe(text)
  })

  test('has a tick with the day at midnight', () => {
    expect(tickText(Date.parse('2026-03-02T00:00:00'), 4 * hour, 'en-GB')).toBe('2 Mar')
  })
})
