import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { reusePiece, TextPieces } from '#history/text-pieces'
import { forAll } from '#test/kit/for-all'

const edges = [0, 1, 9, 10, 99_999_999, 1e8, 1e9, 1e15, 1e16, 2 ** 53, 1e21, 0.1, 1e-6, 1e-7, 123.456789, 0.000001, 0.5]
const number = fc.oneof(
  fc.constantFrom(...edges, ...edges.map((edge) => -edge), -0, Number.NaN, Number.POSITIVE_INFINITY),
  fc.integer(),
  fc.maxSafeInteger(),
  fc.double(),
  fc.float(),
  fc.tuple(fc.maxSafeInteger(), fc.constantFrom(10, 1e3, 1e6, 1e7)).map(([value, scale]) => value / scale),
  fc.tuple(fc.integer(), fc.constantFrom(10, 100, 1e5, 1e6)).map(([value, scale]) => value / scale),
)

function written(fill: (text: TextPieces) => void): string {
  const text = new TextPieces()
  fill(text)
  return Buffer.concat(text.take()).toString()
}

describe('a text in pieces', () => {
  test('contains numbers as JSON writes them', () => {
    forAll([number], 3_000, (value) => {
      expect(written((text) => text.addNumber(value))).toBe(JSON.stringify(value))
    })
  })

  test('contains all of its parts, of any length and characters, and no two pieces share memory', () => {
    const part = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('x'.repeat(70), 'ü'.repeat(50), '€'.repeat(2_000)),
    )
    forAll(
      [fc.array(fc.oneof(part, fc.integer()), { maxLength: 40 }), fc.integer({ min: 1, max: 50 })],
      30,
      (list, times) => {
        const parts = Array.from({ length: times }, () => list).flat()
        const text = new TextPieces()
        for (const each of parts) {
          if (typeof each === 'string') text.add(each)
          else text.addNumber(each)
        }
        const pieces = text.take()
        expect(Buffer.concat(pieces).toString()).toBe(Buffer.from(parts.join('')).toString())
        expect(new Set(pieces.map(({ buffer }) => buffer)).size).toBe(pieces.length)
        for (const piece of pieces) reusePiece(piece)
      },
    )
  })
})
