import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Points, type SeriesValue } from '#history/points'

const value = fc.oneof(fc.integer({ min: 0, max: 9 }), fc.constantFrom('"a"', '"b"'))
const time = fc.integer({ min: 0, max: 12 })

test('settled points are in order of time, and the last of several points of one time stays', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(time, value)), fc.boolean(), (list, isSorted) => {
      const pushed = isSorted ? list.toSorted(([a], [b]) => a - b) : list
      const points = new Points(1)
      for (const [at, each] of pushed) {
        if (typeof each === 'number') points.push(at, each)
        else points.pushText(at, each)
      }
      points.settle()
      const expected = [...new Map<number, SeriesValue>(pushed)].toSorted(([a], [b]) => a - b)
      const found = Array.from({ length: points.count }, (_, index) => [points.times[index], points.valueAt(index)])
      expect(found).toEqual(expected)
      expect(points.texts.size).toBe(expected.filter(([, each]) => typeof each === 'string').length)
    }),
  )
})
