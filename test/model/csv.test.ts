import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CsvReader, type CsvRow } from '#model/csv'
import { forAll } from '#test/kit/for-all'

function rowsOf(pieces: readonly string[], rowCharactersMax = 1_000_000): CsvRow[] {
  const reader = new CsvReader(rowCharactersMax)
  const rows = [...pieces.flatMap((piece) => [...reader.push(piece)]), ...reader.end()]
  return rows.filter((row) => row !== undefined)
}

describe('CSV is read', () => {
  test.each<[string, string, (readonly string[] | undefined)[]]>([
    ['lines', 'a,b\nc\n', [['a', 'b'], ['c']]],
    ['a last line without a line break', 'a\nb', [['a'], ['b']]],
    ['carriage returns', 'a,b\r\n"c"\r\n', [['a', 'b'], ['c']]],
    ['empty fields', 'x\n,\n', [['x'], ['', '']]],
    ['an empty quoted field', 'x\n"",y\n', [['x'], ['', 'y']]],
    ['no empty lines', 'a\n\n\r\nb\n', [['a'], ['b']]],
    ['quotation marks', '"a ""b"", c","d\ne"\n', [['a "b", c', 'd\ne']]],
    ['a quotation mark within a field', 'a"b,c\nd\n', [undefined, ['d']]],
    ['text after a quoted field', '"a"b,c\nd\n', [undefined, ['d']]],
    ['a quotation mark that is never closed', 'a\n"b\nc', [['a'], undefined, ['c']]],
    ['nothing', '', []],
  ])('%s', (_, text, expected) => {
    expect(rowsOf([text]).map(({ fields }) => fields)).toEqual(expected)
  })

  test('the same in any pieces', () => {
    const field = fc.string({ unit: fc.constantFrom('a', 'ü', ',', '"', '\n', '\r\n', ' '), maxLength: 8 })
    const table = fc.array(fc.array(field, { minLength: 2, maxLength: 4 }), { maxLength: 200 })
    forAll([table, fc.integer({ min: 1, max: 40_000 })], 50, (rows, length) => {
      const text = rows
        .map((fields) => `${fields.map((each) => `"${each.replaceAll('"', '""')}"`).join(',')}\n`)
        .join('')
      const pieces = text.match(new RegExp(`[^]{1,${length}}`, 'g')) ?? []
      expect(rowsOf(pieces.flatMap((piece) => [piece, ''])).map(({ fields }) => fields)).toEqual(rows)
    })
  })

  // If the cost grew with the square of the length, the test would exceed its time limit.
  test('in a million short lines, with a pause at each', () => {
    for (const line of ['\n', 'a\n']) {
      let pauses = 0
      for (const _ of new CsvReader(1_000).push(line.repeat(1_000_000))) pauses++
      expect(pauses).toBe(1_000_000)
    }
  })

  test('with the line of each row', () => {
    expect(rowsOf(['a\n"b\n\nc"\nd\n\n"e"f\ng']).map(({ line }) => line)).toEqual([1, 2, 5, 7, 8])
  })

  test('but not a row that is too long', () => {
    expect(rowsOf([`${'x'.repeat(20_000)}\n`], 20_000)).toHaveLength(1)
    for (const end of ['', '\n']) expect(() => rowsOf([`${'x'.repeat(20_001)}${end}`], 20_000)).toThrow('line 1')
    expect(() => rowsOf(['a\n"', 'x\n'.repeat(10_000)], 10_000)).toThrow('line 2')
  })
})
