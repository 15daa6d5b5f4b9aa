import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MsgpackWriter } from '#store/msgpack-writer'
import { pack, unpack } from '#store/record-codec'

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

/** What `write` wrote, behind something else. */
function written(write: (writer: MsgpackWriter) => void): Uint8Array {
  const writer = new MsgpackWriter()
  writer.number(7)
  writer.begin()
  write(writer)
  expect(writer.written.length).toBe(writer.length)
  return writer.written
}

describe('written is what the general encoder writes', () => {
  const edges = [0x1f, 0x20, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0x8000, 0xffff, 0x10000, 2 ** 31, 2 ** 32, 2 ** 53]
  const number = fc.oneof(
    fc.constantFrom(0, ...edges.flatMap((edge) => [edge - 1, edge, edge + 1, -edge, -edge - 1])),
    fc.double({ noNaN: true }),
  )

  test('for numbers', () => {
    fc.assert(
      fc.property(number, (value) => {
        expect(hex(written((writer) => writer.number(value + 0)))).toBe(hex(pack(value + 0)))
      }),
      { numRuns: 2_000 },
    )
  })

  test('for texts of every kind and length', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: 'binary-ascii', maxLength: 300 }),
      fc.constantFrom(0, 0x1f, 0x20, 0xff, 0x100, 0xffff, 0x10000).map((length) => 'x'.repeat(length)),
    )
    fc.assert(
      fc.property(text, (value) => {
        expect(hex(written((writer) => writer.text(value)))).toBe(hex(pack(value)))
      }),
      { numRuns: 1_000 },
    )
  })

  test('for any value that is stored', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(hex(written((writer) => writer.any(value)))).toBe(hex(pack(value)))
      }),
      { numRuns: 1_000 },
    )
  })

  test.each([0, 1, 15, 16, 0xffff, 0x10000])('for lists of %i', (length) => {
    const list = Array.from({ length }, (_, index) => index)
    const bytes = written((writer) => {
      writer.array(length)
      for (const value of list) writer.number(value)
    })
    expect(hex(bytes)).toBe(hex(pack(list)))
  })

  test('for objects', () => {
    const bytes = written((writer) => {
      writer.object(2)
      writer.text('a')
      writer.null()
      writer.text('b')
      writer.number(1)
    })
    expect(hex(bytes)).toBe(hex(pack({ a: null, b: 1 })))
    expect(() => new MsgpackWriter().object(16)).toThrow(RangeError)
  })
})

test('pieces stay as they were, whatever is written behind them, until everything is written anew', () => {
  const lengths = fc.array(fc.oneof(fc.nat(200), fc.constantFrom(20_000, 70_000)), { maxLength: 60 })
  fc.assert(
    fc.property(fc.array(lengths, { minLength: 1, maxLength: 4 }), (rounds) => {
      const writer = new MsgpackWriter(100_000)
      for (const round of rounds) {
        writer.clear()
        const pieces = round.map((length, index) => {
          const text = String(index % 10).repeat(length)
          writer.begin()
          writer.text(text)
          return { text, bytes: writer.written }
        })
        for (const { text, bytes } of pieces) expect(unpack(bytes)).toBe(text)
      }
    }),
    { numRuns: 50 },
  )
})

test('a buffer that grew large is not kept', () => {
  const writer = new MsgpackWriter(100_000)
  writer.append(new Uint8Array(300_000))
  expect(writer.written.buffer.byteLength).toBeGreaterThan(100_000)
  writer.clear()
  expect(writer.written.buffer.byteLength).toBeLessThanOrEqual(100_000)
})
