import fc from 'fast-check'
import { expect, test } from 'vitest'
import { OrderedNames } from '#actors/directory/ordered-names'
import { forAll } from '#test/kit/for-all'

test('names stay in order and unique after any insertions and deletions', () => {
  // There are so few names that they repeat. Some steps insert many, so that runs of names are split and removed.
  const name = fc.integer({ min: 0, max: 3_000 }).map((number) => number.toString(36))
  const step = fc.oneof(
    fc.record({ kind: fc.constantFrom('add', 'delete'), names: fc.array(name, { maxLength: 5 }) }),
    fc.record({ kind: fc.constantFrom('add', 'delete'), names: fc.array(name, { minLength: 500, maxLength: 2_000 }) }),
  )
  forAll([fc.array(step, { maxLength: 8 }), name, fc.nat({ max: 1_500 })], 30, (steps, after, countMax) => {
    const ordered = new OrderedNames()
    const plain = new Set<string>()
    for (const { kind, names } of steps) {
      for (const each of names) {
        if (kind === 'add') ordered.add(each)
        else ordered.delete(each)
        if (kind === 'add') plain.add(each)
        else plain.delete(each)
      }
      const all = [...plain].sort()
      expect(ordered.size).toBe(all.length)
      expect(ordered.after('', all.length)).toEqual(all)
      expect(ordered.after(after, countMax)).toEqual(all.filter((each) => each > after).slice(0, countMax))
    }
  })
})
