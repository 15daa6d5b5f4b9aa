import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Condition } from '#model/condition'
import type { JsonValue } from '#model/json-value'
import { CompiledCondition } from '#rules/compiled-condition'
import { numberCharactersMax, searchesMax } from '#rules/operators'
import { forAll } from '#test/kit/for-all'
import { condition, names, value } from '#test/rules/condition-arbitrary'
import { evaluatePlainly, NoOutcome, truth } from '#test/rules/reference-logic'

type Values = Readonly<Record<string, JsonValue>>

function heldIn(values: Values, name: string): JsonValue {
  return Object.hasOwn(values, name) ? (values[name] as JsonValue) : null
}

/** The outcome: true, false, or 'none'. The values are frozen, so that an evaluation cannot change them. */
function outcomeOf(compiled: CompiledCondition, values: Values): boolean | 'none' {
  const bySlot = compiled.names.map((name) => heldIn(values, name))
  try {
    return compiled.evaluate(Object.freeze(bySlot))
  } catch {
    return 'none'
  }
}

function plainOutcomeOf(logic: JsonValue, values: Values): boolean | 'none' {
  try {
    return truth(evaluatePlainly(logic, (name) => heldIn(values, name)))
  } catch (error) {
    if (error instanceof NoOutcome) return 'none'
    throw error
  }
}

function evaluated(logic: JsonValue, values: Values = {}): boolean | 'none' {
  return outcomeOf(new CompiledCondition(Condition.parse(logic)), values)
}

test('a compiled condition has the outcome of the reference', () => {
  const outcomes = { true: 0, false: 0, none: 0 }
  const values = fc.uniqueArray(fc.tuple(fc.constantFrom(...names), value), { selector: ([name]) => name })
  forAll([condition, fc.array(values, { minLength: 1, maxLength: 4 })], 1_500, (logic, worlds) => {
    const result = Condition.safeParse(logic)
    fc.pre(result.success)
    const compiled = new CompiledCondition(logic)
    for (const world of worlds) {
      const inWorld = Object.fromEntries(world)
      const outcome = outcomeOf(compiled, inWorld)
      outcomes[`${outcome}`]++
      expect(outcome).toBe(plainOutcomeOf(logic, inWorld))
    }
  })
  // The generator yields all outcomes.
  expect(Math.min(...Object.values(outcomes))).toBeGreaterThan(100)
})

/** The tables of jsonlogic.com/tests.json and its pages, for the supported operators: [condition, values, outcome]. */
// biome-ignore format: one block of data
const classic: readonly (readonly [logic: JsonValue, values: Values, outcome: boolean])[] = [
  [{ '==': [1, 1] }, {}, true], [{ '==': [1, '1'] }, {}, true], [{ '==': [1, 2] }, {}, false],
  [{ '===': [1, 1] }, {}, true], [{ '===': [1, '1'] }, {}, false], [{ '===': [1, 2] }, {}, false],
  [{ '!=': [1, 2] }, {}, true], [{ '!=': [1, 1] }, {}, false], [{ '!=': [1, '1'] }, {}, false],
  [{ '!==': [1, 2] }, {}, true], [{ '!==': [1, 1] }, {}, false], [{ '!==': [1, '1'] }, {}, true],
  [{ '>': [2, 1] }, {}, true], [{ '>': [1, 1] }, {}, false], [{ '>': [1, 2] }, {}, false],
  [{ '>': ['2', 1] }, {}, true], [{ '>=': [2, 1] }, {}, true], [{ '>=': [1, 1] }, {}, true],
  [{ '>=': [1, 2] }, {}, false], [{ '>=': ['2', 1] }, {}, true], [{ '<': [2, 1] }, {}, false],
  [{ '<': [1, 1] }, {}, false], [{ '<': [1, 2] }, {}, true], [{ '<': ['1', 2] }, {}, true],
  [{ '<=': [2, 1] }, {}, false], [{ '<=': [1, 1] }, {}, true], [{ '<=': [1, 2] }, {}, true],
  [{ '<=': ['1', 2] }, {}, true], [{ '<': [1, 2, 3] }, {}, true], [{ '<': [1, 1, 3] }, {}, false],
  [{ '<': [1, 4, 3] }, {}, false], [{ '<=': [1, 2, 3] }, {}, true], [{ '<=': [1, 1, 3] }, {}, true],
  [{ '<=': [1, 4, 3] }, {}, false], [{ '!': [false] }, {}, true], [{ '!': false }, {}, true],
  [{ '!': [true] }, {}, false], [{ '!': 0 }, {}, true], [{ '!': 1 }, {}, false], [{ or: [true, true] }, {}, true],
  [{ or: [false, true] }, {}, true], [{ or: [false, false] }, {}, false],
  [{ '===': [{ or: [false, 'apple'] }, 'apple'] }, {}, true], [{ '===': [{ or: [0, 3] }, 3] }, {}, true],
  [{ and: [true, true] }, {}, true], [{ and: [true, false] }, {}, false], [{ '===': [{ and: [1, 3] }, 3] }, {}, true],
  [{ '===': [{ and: [3, false] }, false] }, {}, true], [{ '===': [{ if: [true, 1, 2] }, 1] }, {}, true],
  [{ '===': [{ if: [false, 1, 2] }, 2] }, {}, true],
  [{ '===': [{ if: [false, 'apple', true, 'banana', 'carrot'] }, 'banana'] }, {}, true],
  [{ '===': [{ if: [false, 'apple'] }, null] }, {}, true], [{ if: ['apple'] }, {}, true],
  [{ '===': [{ if: ['', 'apple', 'banana'] }, 'banana'] }, {}, true],
  [{ '===': [{ if: [[], 'apple', 'banana'] }, 'banana'] }, {}, true],
  [{ '===': [{ if: [[1], 'apple', 'banana'] }, 'apple'] }, {}, true],
  [{ '===': [{ if: ['0', 'apple', 'banana'] }, 'apple'] }, {}, true], [{ '!!': [[]] }, {}, false],
  [{ '!!': ['0'] }, {}, true], [{ '!!': [0] }, {}, false], [{ '!!': [''] }, {}, false],
  [{ in: ['Bart', ['Bart', 'Homer', 'Lisa']] }, {}, true], [{ in: ['Milhouse', ['Bart', 'Homer', 'Lisa']] }, {}, false],
  [{ in: ['Spring', 'Springfield'] }, {}, true], [{ in: ['i', 'team'] }, {}, false],
  [{ '===': [{ '+': [1, 2] }, 3] }, {}, true], [{ '===': [{ '+': [2, 2, 2] }, 6] }, {}, true],
  [{ '===': [{ '+': ['1', 1] }, 2] }, {}, true], [{ '===': [{ '+': '3.14' }, 3.14] }, {}, true],
  [{ '===': [{ '*': [3, 2] }, 6] }, {}, true], [{ '===': [{ '*': ['2', '2', 2] }, 8] }, {}, true],
  [{ '===': [{ '-': [2, 3] }, -1] }, {}, true], [{ '===': [{ '-': [3] }, -3] }, {}, true],
  [{ '===': [{ '-': ['1', 1] }, 0] }, {}, true], [{ '===': [{ '/': [4, 2] }, 2] }, {}, true],
  [{ '===': [{ '/': ['1', 2] }, 0.5] }, {}, true], [{ '===': [{ '%': [2, 2] }, 0] }, {}, true],
  [{ '===': [{ '%': [3, 2] }, 1] }, {}, true], [{ '===': [{ max: [1, 2, 3] }, 3] }, {}, true],
  [{ '===': [{ max: [1, 3, 3] }, 3] }, {}, true], [{ '===': [{ max: [1] }, 1] }, {}, true],
  [{ '===': [{ min: [1, 2, 3] }, 1] }, {}, true], [{ '===': [{ min: [3, 1, 3] }, 1] }, {}, true],
  [{ '===': [{ var: 'a' }, 1] }, { a: 1 }, true], [{ '===': [{ var: ['a'] }, 1] }, { a: 1 }, true],
  [{ '===': [{ var: ['b', 2] }, 2] }, { a: 1 }, true], [{ missing: ['a', 'b'] }, { a: 1 }, true],
  [{ missing: 'a' }, { a: 1 }, false], [{ in: ['b', { missing: ['a', 'b'] }] }, { a: 1 }, true],
  [{ and: [{ '<': [{ var: 'temp' }, 110] }, { '==': [{ var: 'filling' }, 'apple'] }] }, { temp: 100, filling: 'apple' }, true],
  [{ '<': [0, { var: 'temp' }, 100] }, { temp: 37 }, true],
]

test.each(classic)('%j of %j is %s', (logic, values, outcome) => {
  expect(evaluated(logic, values)).toBe(outcome)
})

test('names without a default come first, each once', () => {
  const variables = [{ var: ['a', 1] }, { var: 'b' }, { var: 'a' }, { var: ['c', 0] }, { var: 'b' }]
  const { names, neededCount } = new CompiledCondition(
    Condition.parse({ and: [{ missing: ['d', 'a'] }, ...variables] }),
  )
  expect([neededCount, names]).toEqual([2, ['b', 'a', 'd', 'c']])
})

describe('there is no outcome', () => {
  test.each<[JsonValue, Values]>([
    [{ '==': [{ var: 'a' }, 'abc'] }, { a: 1 }],
    [{ '<': [{ var: 'a' }, 1] }, { a: 'abc' }],
    [{ '<': [{ var: 'a' }, 1] }, { a: [1] }],
    [{ '==': [{ var: 'a' }, 1] }, { a: { b: 1 } }],
    [{ '/': [1, { var: 'a' }] }, { a: 0 }],
    [{ '/': [{ var: 'a' }, 0] }, { a: 1 }],
    [{ '%': [{ var: 'a' }, 0] }, { a: 1 }],
    [{ '*': [{ var: 'a' }, 10] }, { a: 1e308 }],
    [{ '+': [{ var: 'a' }, 'abc'] }, { a: 1 }],
    [{ max: [{ var: 'a' }, []] }, { a: 1 }],
    [{ '+': [{ var: 'a' }, 1] }, { a: '9'.repeat(numberCharactersMax + 1) }],
  ])('for %j of %j', (logic, values) => {
    expect(evaluated(logic, values)).toBe('none')
  })

  test.each<[JsonValue, boolean]>([
    [{ if: [{ var: ['a', false] }, { '/': [1, 0] }, true] }, true],
    [{ or: [true, { '+': ['abc', 1] }] }, true],
    [{ and: [false, { '<': [[], 1] }] }, false],
  ])('unless the failing part is not evaluated: %j', (logic, outcome) => {
    expect(evaluated(logic)).toBe(outcome)
  })
})

describe('in', () => {
  const half = searchesMax / 1_024

  test('is limited in its comparisons', () => {
    const logic = { or: [{ in: [{ var: 'a' }, { var: 'b' }] }, true] }
    expect(evaluated(logic, { a: 'a'.repeat(half), b: 'b'.repeat(1_024) })).toBe(true)
    expect(evaluated(logic, { a: 'a'.repeat(half), b: 'b'.repeat(1_025) })).toBe('none')
  })

  test('counts comparisons over one evaluation', () => {
    const compiled = new CompiledCondition({
      or: [{ in: [{ var: 'a' }, { var: 'b' }] }, { in: [{ var: 'a' }, { var: 'b' }] }, true],
    })
    const values = { a: 'a'.repeat(half / 2), b: 'b'.repeat(1_024) }
    for (const _ of [1, 2, 3]) expect(outcomeOf(compiled, values)).toBe(true)
    expect(outcomeOf(compiled, { ...values, b: 'b'.repeat(1_026) })).toBe('none')
  })

  test('counts the compared characters and elements of a list', () => {
    const list = (count: number, text: string) => Array.from({ length: count }, () => text)
    const logic = { or: [{ in: [{ var: 'a' }, { var: 'b' }] }, true] }
    expect(evaluated(logic, { a: 'a'.repeat(2_000), b: list(32_000, 'b') })).toBe(true)
    expect(evaluated(logic, { a: 'a'.repeat(2_000), b: list(525, 'b'.repeat(2_000)) })).toBe('none')
    expect(evaluated(logic, { a: 1, b: list(searchesMax + 1, '') })).toBe('none')
  })
})

test('conditions of one form share a function for any names and values', () => {
  const outcomes = Array.from({ length: 3_000 }, (_, place) => {
    const compiled = new CompiledCondition({ '>': [{ var: `a${place}` }, place] })
    return [place, place + 1].map((value) => compiled.evaluate([value]))
  })
  expect(outcomes.every(([isAt, isAbove]) => isAt === false && isAbove === true)).toBe(true)
})

test('conditions are compiled correctly beyond the size of the cache', () => {
  const chain = (place: number): JsonValue =>
    Array.from({ length: 11 }, (_, bit) => bit).reduce<JsonValue>(
      (inner, bit) => ({ [(place >> bit) % 2 === 1 ? '+' : '-']: [inner, 1] }),
      { var: 'a' },
    )
  for (let place = 0; place < 2_048; place++) {
    const ups = [...place.toString(2)].filter((digit) => digit === '1').length
    expect(evaluated({ '===': [chain(place), ups - (11 - ups)] }, { a: 0 })).toBe(true)
  }
})

test('a failed evaluation does not affect the next one', () => {
  const compiled = new CompiledCondition({ '==': [{ var: 'a' }, 1] })
  expect(compiled.evaluate([1])).toBe(true)
  expect(() => compiled.evaluate([[]])).toThrow()
  expect(compiled.evaluate([2])).toBe(false)
})
