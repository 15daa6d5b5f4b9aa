import { describe, expect, test } from 'vitest'
import {
  AlarmCondition,
  Condition,
  conditionBytesMax,
  conditionNodesMax,
  FilterCondition,
  namesIn,
} from '#model/condition'
import type { JsonValue } from '#model/json-value'

/** A condition of `depth` operators, one inside the other. */
function nested(depth: number): JsonValue {
  return Array.from({ length: depth }).reduce<JsonValue>((inner) => ({ '!': [inner] }), { var: 'a' })
}

/** An operator with arguments, of this many nodes together. */
function wide(nodes: number): JsonValue {
  return { and: Array.from({ length: nodes - 1 }, () => 1) }
}

function faultsOf(schema: typeof Condition, value: unknown): string[] {
  const result = schema.safeParse(value)
  return result.success ? [] : result.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
}

describe('a condition', () => {
  test.each<JsonValue>([
    ...[true, null, 'text', { var: 'a' }, { var: ['a'] }, { var: ['a', null] }, { var: 'a'.repeat(256) }],
    ...[{ var: '__proto__' }, { missing: 'a' }, { missing: ['a', 'constructor'] }, { '!': { var: 'a' } }],
    ...[{ '+': '3' }, { '-': [1] }, { '<': [1, { var: 'a' }, 3] }, { if: [1] }, { in: [1, [1, 2]] }],
    ...[nested(15), wide(conditionNodesMax), { missing: Array(255).fill('a') }],
    'a'.repeat(conditionBytesMax - 2),
  ])('%j is accepted unchanged', (value) => {
    expect(Condition.parse(value)).toBe(value)
  })

  test('of arrays is accepted unchanged', () => {
    for (const value of [[], [1, [2, 'a'], { var: 'b' }]]) expect(Condition.parse(value)).toBe(value)
  })

  const notName = 'must be a name of 1 to 256 characters'
  const notScalar = 'must be a finite number, a text, true, false or null'
  const tooDeep = 'must not be deeper than 16 operators and arrays'
  const oneKey = expect.stringMatching(/^: must have one key, one of == === /)
  const oneKeyAt = (path: string) => expect.stringMatching(`^${path}: must have one key`)

  test.each<[what: string, value: unknown, faults: unknown]>([
    ['nothing', undefined, `: ${notScalar}`],
    ['an empty object', {}, oneKey],
    ['two operators', { '==': [1, 1], '!=': [1, 1] }, oneKey],
    ...[
      ...['map', 'filter', 'reduce', 'all', 'some', 'none', 'merge', 'cat', 'substr', 'missing_some', 'log', 'method'],
      ...['val', 'get', 'exists', 'throw', 'try', '??', '?:', 'not', 'preserve', 'value', 'constant', 'lacking', ''],
    ].map((operator): [string, unknown, unknown] => [`"${operator}"`, { [operator]: [1, 2] }, oneKey]),
    ...['__proto__', 'constructor', 'toString', 'hasOwnProperty'].map((operator): [string, unknown, unknown] => [
      operator,
      JSON.parse(`{"${operator}":[1,2]}`),
      [oneKey],
    ]),
    ['too few arguments', { '==': [1] }, '==: must have 2 arguments'],
    ['too many arguments', { '<': [1, 2, 3, 4] }, '<: must have 2 to 3 arguments'],
    ['no arguments', { and: [] }, 'and: must have 1 to 256 arguments'],
    ['an argument without its array where two are needed', { in: 'a' }, 'in: must have 2 arguments'],
    ['an invalid name', { var: '' }, `var: ${notName}`],
    ['a name that is too long', { var: 'a'.repeat(257) }, `var: ${notName}`],
    ['a computed name', { var: { var: 'a' } }, `var: ${notName}`],
    ['a computed name in an array', { var: [{ if: [1] }] }, `var.0: ${notName}`],
    ['a number as a name', { var: 1 }, `var: ${notName}`],
    ['a name with a lone surrogate', { var: '\ud800' }, `var: ${notName}`],
    ['no name', { var: [] }, 'var: must have 1 to 2 arguments'],
    ['a computed default', { var: ['a', { var: 'b' }] }, `var.1: ${notScalar}`],
    ['a default that is an array', { var: ['a', []] }, `var.1: ${notScalar}`],
    ['an invalid missing name', { missing: ['a', 1] }, `missing.1: ${notName}`],
    ['missing names in an array', { missing: [['a']] }, `missing.0: ${notName}`],
    ['a value that JSON lacks', { '+': [1, Number.POSITIVE_INFINITY] }, `+.1: ${notScalar}`],
    ['a lone surrogate', { in: ['\udc00', 'a'] }, 'in.0: must be well-formed Unicode'],
    [
      'several faults',
      { and: [{ a: 1 }, { '!': { var: 2 } }, [{}]] },
      [oneKeyAt('and.0'), `and.1.!.var: ${notName}`, oneKeyAt('and.2.0')],
    ],
    ['17 deep', nested(16), `${'!.0.'.repeat(16).slice(0, -1)}: ${tooDeep}`],
    ['17 deep in arrays', [nested(15)], `0.${'!.0.'.repeat(15).slice(0, -1)}: ${tooDeep}`],
    ['257 nodes', wide(conditionNodesMax + 1), ': must have at most 256 nodes'],
    ['an operator of 257 arguments', wide(conditionNodesMax + 2), 'and: must have 1 to 256 arguments'],
    ['257 nodes, nested', { and: [wide(128), wide(128)] }, ': must have at most 256 nodes'],
    ['257 nodes by missing', { and: [{ missing: Array(255).fill('a') }] }, ': must have at most 256 nodes'],
    ['16 385 bytes', 'a'.repeat(conditionBytesMax - 1), ': must be at most 16384 bytes as JSON'],
  ])('%s is refused', (_, value, faults) => {
    expect(faultsOf(Condition, value)).toEqual([faults].flat())
  })

  test('a large condition is read only up to its limits', () => {
    const deep = JSON.parse(`${'{"!":['.repeat(100_000)}1${']}'.repeat(100_000)}`)
    const broad = { and: [Array.from({ length: 1_000_000 }, () => ({ x: 1 }))] }
    expect(faultsOf(Condition, deep)).toHaveLength(1)
    expect(faultsOf(Condition, broad).length).toBeLessThanOrEqual(conditionNodesMax)
  })
})

test('a condition of a filter has half the maximum size', () => {
  expect(faultsOf(FilterCondition, 'a'.repeat(8_190))).toEqual([])
  expect(faultsOf(FilterCondition, 'a'.repeat(8_191))).toEqual([': must be at most 8192 bytes as JSON'])
})

test('a condition of an alarm must read a property', () => {
  for (const value of [{ '>': [{ var: 'a' }, 1] }, { var: ['a', 1] }])
    expect(AlarmCondition.parse(value)).toEqual(value)
  for (const value of [true, { '>': [2, 1] }, { missing: ['a'] }]) {
    expect(faultsOf(AlarmCondition, value)).toEqual([': must read at least one property by var'])
  }
})

test('names without a default are separated from optional ones', () => {
  const condition = {
    if: [{ missing: ['a', 'c'] }, { var: ['b', 0] }, { '+': [{ var: 'a' }, { var: ['b'] }, { var: ['d', 1] }] }],
  }
  expect(namesIn(condition)).toMatchObject({ needed: ['a', 'b'], optional: ['c', 'd'] })
})
