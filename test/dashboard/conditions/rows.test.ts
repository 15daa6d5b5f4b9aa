import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type ComparisonId,
  comparisons,
  comparisonsFor,
  conditionInWords,
  conditionOf,
  type Operand,
  operandsOf,
  type Row,
  rowsOf,
  withComparison,
  withOperand,
} from '#dashboard/conditions/rows'
import { AlarmCondition, type Condition } from '#model/condition'

const schema = {
  name: 'Climate',
  properties: {
    '0x2000': { name: 'temperature', type: 'float', unit: '°C' },
    '0x2001': { name: 'label', type: 'string' },
    '0x2002': { name: 'mode', type: 'uint8', enum: { 0: { name: 'off' }, 2: { name: 'heating' } } },
    '0x2003': { name: 'isPumpOn', type: 'bool' },
    '0x2004': { name: 'total', type: 'uint64' },
    '0x2005': { name: 'history', type: 'float-array' },
    '0x2006': { name: 'bare' },
  },
}
const operands = operandsOf(schema)
const names = operands.map(({ name }) => name)
const row = (name: string, comparison: ComparisonId, ...values: readonly string[]): Row => ({
  name,
  comparison,
  values,
})

function conditionIn(rows: readonly Row[], join: 'and' | 'or' = 'and'): Condition | undefined {
  const read = conditionOf({ join, rows }, operands)
  return 'condition' in read ? read.condition : undefined
}

test('scalar properties are operands, arrays are not', () => {
  expect(names).toEqual(['temperature', 'label', 'mode', 'isPumpOn', 'total', 'bare'])
  expect(operands.map(({ kind }) => kind)).toEqual(['number', 'text', 'number', 'switch', 'number', 'unknown'])
  expect(operands.find(({ name }) => name === 'mode')?.choices).toEqual([
    { value: '0', label: 'off' },
    { value: '2', label: 'heating' },
  ])
})

describe('a row becomes a condition and is read from it again', () => {
  test.each<[Row, Condition]>([
    [row('temperature', 'above', '30'), { '>': [{ var: 'temperature' }, 30] }],
    [row('temperature', 'atLeast', ' 30.5 '), { '>=': [{ var: 'temperature' }, 30.5] }],
    [row('temperature', 'below', '-4'), { '<': [{ var: 'temperature' }, -4] }],
    [row('temperature', 'atMost', '1e3'), { '<=': [{ var: 'temperature' }, 1000] }],
    [row('temperature', 'between', '18', '26'), { '<': [18, { var: 'temperature' }, 26] }],
    [row('label', 'is', '30'), { '==': [{ var: 'label' }, '30'] }],
    [row('label', 'isNot', 'a b'), { '!=': [{ var: 'label' }, 'a b'] }],
    [row('label', 'contains', 'leak'), { in: ['leak', { var: 'label' }] }],
    [row('mode', 'oneOf', '0, 2'), { in: [{ var: 'mode' }, [0, 2]] }],
    [row('isPumpOn', 'on'), { var: 'isPumpOn' }],
    [row('isPumpOn', 'off'), { '!': { var: 'isPumpOn' } }],
    [row('total', 'above', '18446744073709551615'), { '>': [{ var: 'total' }, '18446744073709551615'] }],
    [row('bare', 'is', 'true'), { '==': [{ var: 'bare' }, true] }],
    [row('bare', 'is', 'null'), { '==': [{ var: 'bare' }, null] }],
    [row('meta.site', 'is', 'Bern'), { '==': [{ var: 'meta.site' }, 'Bern'] }],
  ])('%j', (given, condition) => {
    expect(conditionIn([given])).toEqual(condition)
    expect(AlarmCondition.safeParse(condition).success).toBe(true)
    const again = rowsOf(condition, operands)
    expect(again && conditionOf(again, operands)).toEqual({ condition })
  })
})

test.each(['and', 'or'] as const)('several rows are joined by %s', (join) => {
  const rows = [row('temperature', 'above', '30'), row('isPumpOn', 'off')]
  const condition = { [join]: [{ '>': [{ var: 'temperature' }, 30] }, { '!': { var: 'isPumpOn' } }] }
  expect(conditionIn(rows, join)).toEqual(condition)
  expect(rowsOf(condition, operands)).toEqual({ join, rows })
})

test.each<[name: string, row: Row]>([
  ['has no property', row('', 'above', '30')],
  ['compares a number with a text', row('temperature', 'above', 'warm')],
  ['compares a number with nothing', row('temperature', 'above', ' ')],
  ['lacks the second of two values', row('temperature', 'between', '18', '')],
  ['has an empty value among several', row('mode', 'oneOf', '1,,2')],
  ['compares a text with nothing', row('label', 'is', '')],
])('the fault has the number of a row that %s', (_, bad) => {
  const read = conditionOf({ join: 'and', rows: [row('isPumpOn', 'on'), bad] }, operands)
  expect(read).toEqual({ faults: [{ row: 1, message: expect.any(String) }] })
})

describe('a condition cannot be shown as rows if it has', () => {
  test.each<[name: string, condition: Condition]>([
    ['a default', { '>': [{ var: ['temperature', 0] }, 30] }],
    ['arithmetic', { '>': [{ '-': [{ var: 'temperature' }, 5] }, 12] }],
    ['two properties', { '>': [{ var: 'temperature' }, { var: 'bare' }] }],
    ['the value before the property', { '>': [30, { var: 'temperature' }] }],
    ['a text where numbers are compared', { '>': [{ var: 'temperature' }, '30'] }],
    ['a number where texts are compared', { '==': [{ var: 'label' }, 30] }],
    ['a comma within a text', { in: [{ var: 'label' }, ['a, b', 'c']] }],
    ['`and` within `or`', { or: [{ and: [{ var: 'isPumpOn' }, { var: 'bare' }] }, { var: 'isPumpOn' }] }],
    ['`and` with one argument', { and: [{ var: 'isPumpOn' }] }],
    ['only a constant', true],
    ['strict equality', { '===': [{ var: 'temperature' }, 1] }],
  ])('%s', (_, condition) => {
    expect(rowsOf(condition, operands)).toBeUndefined()
  })
})

const anyRow = fc
  .record({
    operand: fc.constantFrom<Operand>(...operands),
    comparison: fc.constantFrom(...(Object.keys(comparisons) as ComparisonId[])),
    values: fc.array(fc.oneof(fc.double({ noNaN: true }).map(String), fc.integer().map(String), fc.string()), {
      minLength: 2,
      maxLength: 2,
    }),
  })
  .map(({ operand, comparison, values }) => withComparison({ name: operand.name, comparison, values }, comparison))
const anyRows = fc.record({
  join: fc.constantFrom('and' as const, 'or' as const),
  rows: fc.array(anyRow, { minLength: 1, maxLength: 4 }),
})

test('rows that are read from the condition of any rows have the same condition', () => {
  let read = 0
  fc.assert(
    fc.property(anyRows, (rows) => {
      const written = conditionOf(rows, operands)
      if (!('condition' in written)) return
      const again = rowsOf(written.condition, operands)
      if (!again) return
      read += 1
      expect(conditionOf(again, operands)).toEqual(written)
    }),
    { numRuns: 500 },
  )
  expect(read).toBeGreaterThan(20)
})

test('any JSON can be read as rows without an error, and has the same condition if it has rows', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const condition = value as Condition
      const read = rowsOf(condition, operands)
      if (read) expect(conditionOf(read, operands)).toEqual({ condition })
    }),
  )
})

test('a row with another property keeps its comparison only if it applies to the type', () => {
  const above = row('temperature', 'above', '30')
  const [, label, mode, pump] = operands as readonly [Operand, Operand, Operand, Operand]
  expect(withOperand(above, label)).toEqual(row('label', 'is', '30'.slice(2)))
  expect(withOperand(above, mode)).toEqual(row('mode', 'above', ''))
  expect(withOperand(above, pump)).toEqual(row('isPumpOn', 'on'))
  expect(comparisonsFor('switch', 'is')).toEqual(['is', 'on', 'off'])
})

test.each<[Condition, string]>([
  [{ '>': [{ var: 'temperature' }, 30] }, 'temperature is above 30 °C'],
  [{ '<': [18, { var: 'temperature' }, 26] }, 'temperature is between 18 and 26 °C'],
  [{ in: [{ var: 'mode' }, [0, 2]] }, 'mode is one of off, heating'],
  [{ '==': [{ var: '0x2002' }, 2] }, 'mode is heating'],
  [{ or: [{ var: 'isPumpOn' }, { '==': [{ var: 'mode' }, 2] }] }, 'isPumpOn is on or mode is heating'],
  [{ '===': [{ var: 'mode' }, 2] }, '{"===":[{"var":"mode"},2]}'],
])('the condition %j reads: %s', (condition, words) => {
  expect(conditionInWords(condition, operands)).toBe(words)
})
