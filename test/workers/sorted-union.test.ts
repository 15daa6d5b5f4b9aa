import fc from 'fast-check'
import { expect, test } from 'vitest'
import { forAll } from '#test/kit/for-all'
import { sortedUnion } from '#workers/sorted-union'

/** The result, and the number of yields. */
function union(lists: readonly (readonly string[])[], countMax: number) {
  const steps = sortedUnion(lists, countMax)
  for (let count = 0; ; count++) {
    const { done, value } = steps.next()
    if (done) return { names: value, count }
  }
}

test('the union has each name once, in order', () => {
  const list = fc.uniqueArray(fc.stringMatching(/^[A-C]{0,2}$/)).map((names) => names.sort())
  forAll([fc.array(list, { maxLength: 9 })], (lists) => {
    expect(union(lists, 100).names).toEqual([...new Set(lists.flat())].sort())
  })
})

test.each([0, 1, 2])('a union of more than %i names is undefined', (countMax) => {
  expect(union([['A'], ['A', 'B'], ['C']], countMax).names).toBeUndefined()
})

test('a long union yields', () => {
  const lists = [0, 1].map((odd) => Array.from({ length: 50_000 }, (_, index) => String(1_000_000 + 2 * index + odd)))
  const { names, count } = union(lists, 100_000)
  expect([names?.length, count > 20]).toEqual([100_000, true])
})
