import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ByteWriter, openRow } from '#history/bytes'
import { decodeColumn, encodeColumn } from '#history/column-codec'
import { Points } from '#history/points'
import { forAll } from '#test/kit/for-all'

type Value = number | { readonly text: string }

const edges = [0, 1, 31, 32, 33, 2 ** 16, 2 ** 24, 2 ** 25, 2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 52, 2 ** 53 - 1]
const whole = fc.oneof(fc.integer(), fc.constantFrom(...edges, ...edges.map((edge) => -edge)), fc.maxSafeInteger())
const number = fc.oneof(
  whole,
  fc.double(),
  fc.float(),
  fc.tuple(fc.integer(), fc.constantFrom(10, 100, 1e5, 1e6)).map(([value, scale]) => value / scale),
  fc.tuple(fc.integer({ min: -9999, max: 9999 }), fc.constantFrom(10, 100)).map(([v, scale]) => Math.fround(v / scale)),
  fc.constantFrom(-0, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.MIN_VALUE),
)
const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.array(fc.oneof(fc.integer(), fc.string()), { maxLength: 5 }),
  fc.boolean(),
  fc.constant('x'.repeat(5000)),
)
const jsonText = text.map((json) => ({ text: JSON.stringify(json) }))
/** Columns are of one kind more often than mixed. */
const values: fc.Arbitrary<readonly Value[]> = fc.oneof(
  ...[
    ...[fc.integer({ min: -50, max: 50 }), fc.integer({ min: -5000, max: 5000 }).map((tenths) => tenths / 10)],
    ...[fc.float({ noNaN: true, noDefaultInfinity: true }), number, jsonText, fc.oneof(number, jsonText)],
  ].map((value) => fc.array(value as fc.Arbitrary<Value>, { maxLength: 150 })),
)
const startTime = fc.integer({ min: 0, max: 4e12 })
const step = fc.oneof(
  fc.constant(10_000),
  fc.integer({ min: 9_950, max: 10_050 }),
  fc.integer({ min: 0, max: 90_000_000 }),
  fc.constant(0.5),
  whole,
)

function pointsOf(list: readonly Value[], steps: readonly number[], start: number): Points {
  const points = new Points(1)
  let time = start
  for (const [index, value] of list.entries()) {
    if (typeof value === 'number') points.push(time, value)
    else points.pushText(time, value.text)
    const next = time + (steps[index % Math.max(1, steps.length)] ?? 1)
    if (Number.isSafeInteger(next * 2)) time = next
  }
  return points
}

function shown({ times, values, texts, count }: Points) {
  return [...times.subarray(0, count)].map((time, index) => [time, texts.get(index) ?? values[index]])
}

function written(points: Points, from = 0, to = points.count): Buffer {
  const writer = new ByteWriter()
  encodeColumn(points, from, to, writer)
  return writer.takeRow()
}

describe('a column', () => {
  test('reads back with the same points, for any times and values', () => {
    forAll([values, fc.array(step, { maxLength: 40 }), startTime, startTime], 300, (list, steps, start, baseTime) => {
      const points = pointsOf(list, steps, start)
      const read = new Points(1)
      read.push(1, 2)
      const writer = new ByteWriter()
      encodeColumn(points, 0, points.count, writer, baseTime)
      const reader = openRow(writer.takeRow())
      decodeColumn(reader, read, baseTime)
      expect(reader.isAtEnd).toBe(true)
      expect(shown(read)).toStrictEqual([[1, 2], ...shown(points)])
    })
  })

  test('of a part of the points reads back with only that part', () => {
    const points = pointsOf([1, { text: '"a"' }, 3.5, 4, 5], [7], 100)
    const read = new Points()
    decodeColumn(openRow(written(points, 2, 4)), read)
    expect(shown(read)).toEqual([
      [114, 3.5],
      [121, 4],
    ])
  })

  test('takes few bytes for values that change little', () => {
    const steadily = (valueAt: (index: number) => number) => {
      const values = Array.from({ length: 1024 }, (_, index) => valueAt(index))
      return written(pointsOf(values, [10_000], 1.7e12)).length
    }
    const degrees = (index: number) => 20 + ((index * 7) % 10) / 10
    // Four bits a value.
    expect(steadily(degrees)).toBeLessThan(750)
    expect(steadily(() => 0.1 + 0.2)).toBeLessThan(1200)
    expect(steadily((index) => Math.fround(degrees(index)))).toBeLessThan(750)
  })
})

test('damage of a row is detected: every changed bit, and every cut', () => {
  const row = written(pointsOf([1, 2.5, { text: '"some text"' }, 4], [1000, 5], 1.7e12))
  for (let bit = 0; bit < row.length * 8; bit++) {
    const changed = Buffer.from(row)
    changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7))
    expect(() => openRow(changed)).toThrow('damaged')
  }
  for (let length = 0; length < row.length; length++) expect(() => openRow(row.subarray(0, length))).toThrow('damaged')
})

test('points are sorted by time, and the last of several points of one time stays, as in a map', () => {
  const point = fc.tuple(fc.integer({ min: 0, max: 12 }), fc.oneof(fc.integer(), fc.constantFrom('"a"', '"b"')))
  forAll([fc.array(point), fc.boolean()], (drawn, isSorted) => {
    const pushed = isSorted ? drawn.toSorted(([a], [b]) => a - b) : drawn
    const points = new Points(1)
    for (const [time, value] of pushed) {
      if (typeof value === 'string') points.pushText(time, value)
      else points.push(time, value)
    }
    points.settle()
    const expected = [...new Map<number, number | string>(pushed)].sort(([a], [b]) => a - b)
    const found = Array.from({ length: points.count }, (_, index) => [points.times[index], points.valueAt(index)])
    expect(found).toEqual(expected)
    expect(points.texts.size).toBe(expected.filter(([, value]) => typeof value === 'string').length)
    for (let time = 0; time <= 13; time++) {
      expect(points.indexAt(time)).toBe(expected.filter(([each]) => each < time).length)
    }
  })
})
