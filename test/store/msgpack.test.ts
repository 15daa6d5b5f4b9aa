import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MsgpackReader, textHash } from '#store/msgpack-reader'
import { MsgpackWriter, pack, unpack } from '#store/record-codec'
import { anyText } from '#test/kit/any-text'
import { forAll } from '#test/kit/for-all'

const edges = [0x1f, 0x20, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0x8000, 0xffff, 0x10000, 2 ** 31, 2 ** 32, 2 ** 53]
const number = fc.oneof(
  fc.constantFrom(0, ...edges.flatMap((edge) => [edge - 1, edge, edge + 1, -edge, -edge - 1])),
  fc.double({ noNaN: true }),
)
const text = fc.oneof(
  anyText(),
  fc.string({ unit: 'binary-ascii', maxLength: 300 }),
  fc.constantFrom(0, 0x1f, 0x20, 0xff, 0x100, 0xffff, 0x10000).map((length) => 'x'.repeat(length)),
)
const anything = fc.oneof(
  number,
  text,
  fc.jsonValue(),
  fc.bigInt({ min: 2n ** 60n, max: 2n ** 64n - 1n }),
  fc.uint8Array({ maxLength: 300 }),
  fc.array(fc.nat(9), { maxLength: 70_000 }),
)

const reader = new MsgpackReader()

/** The value that the reader reads, or undefined if it leaves the bytes to the general decoder. */
function read<Value>(bytes: Uint8Array, how: (reader: MsgpackReader) => Value): { readonly value: Value } | undefined {
  return reader.whole(bytes, (whole) => ({ value: how(whole) }))
}

describe('the reader reads the same as the general decoder', () => {
  test('of numbers, but leaves those of 64 bits to it', () => {
    forAll([number], 500, (drawn) => {
      const value = drawn + 0
      const bytes = pack(value)
      const isLeft = bytes[0] === 0xcf || bytes[0] === 0xd3
      expect(read(bytes, (each) => each.number())).toEqual(isLeft ? undefined : { value })
      expect(read(bytes, (each) => each.any())).toEqual({ value })
    })
  })

  test('of texts of every kind and length', () => {
    forAll([text], 300, (value) => {
      const bytes = pack(value)
      for (const how of ['text', 'any'] as const)
        expect(read(bytes, (each) => each[how]())).toEqual({ value: unpack(bytes) })
    })
  })

  test('of any value, and skips values to their end', () => {
    forAll([anything, fc.nat(99)], 300, (value, behind) => {
      const bytes = Buffer.concat([pack(value), pack(behind)])
      const all = (each: MsgpackReader) => [each.any(), each.number()]
      expect(read(bytes, all)).toEqual({ value: [unpack(pack(value)), behind] })
      const last = (each: MsgpackReader) => {
        each.pass(1)
        return each.number()
      }
      expect(read(bytes, last)).toEqual({ value: behind })
    })
  })

  test('of any bytes: both read the same value or both fail, or the reader leaves them to the decoder', () => {
    const outcome = (make: () => unknown) => {
      try {
        return make()
      } catch {
        return 'refused'
      }
    }
    forAll([fc.uint8Array({ maxLength: 40 })], 500, (bytes) => {
      const found = outcome(() => read(bytes, (each) => each.any()) ?? 'left')
      // Binary values are views of the same kind as the input.
      const general = outcome(() => ({ value: unpack(Buffer.from(bytes)) }))
      if (found !== 'left') expect(found).toStrictEqual(general)
    })
  })

  test('of undefined in a list and an object', () => {
    const value = [{ a: undefined, b: 1 }, undefined, 2]
    expect(read(pack(value), (each) => each.any())).toStrictEqual({ value })
  })

  test.each([0, 1, 15, 16, 0xffff, 0x10000])('of lists of %i', (length) => {
    const list = Array.from({ length }, (_, index) => index)
    const numbers = (each: MsgpackReader) => Array.from({ length: each.array() }, () => each.number())
    expect(read(pack(list), numbers)).toEqual({ value: list })
  })
})

test.each<[string, Uint8Array, 'number' | 'array' | 'text' | 'object' | 'any']>([
  ['a list instead of a number', pack([1]), 'number'],
  ['a number instead of a list', pack(1), 'array'],
  ['a number instead of a text', pack(1), 'text'],
  ['a text instead of an object', pack('a'), 'object'],
  ['no bytes instead of a number', Buffer.alloc(0), 'number'],
  ['no bytes instead of a value', Buffer.alloc(0), 'any'],
  ['half a double', pack(0.5).subarray(0, 5), 'number'],
  ['half a text', pack('abc').subarray(0, 3), 'text'],
  ['a list longer than there are bytes', Buffer.of(0xdd, 0xff, 0xff, 0xff, 0xff), 'array'],
  ['a value that is not read to its end', pack([1, 2]), 'array'],
  ['an unused type', Buffer.of(0xc1), 'any'],
  ['an extension', Buffer.of(0xd4, 0x72, 0x40), 'any'],
  ['half an undefined', pack([undefined]).subarray(0, 3), 'any'],
])('the reader leaves %s to the general decoder', (_, bytes, how) => {
  expect(read(bytes, (each) => each[how]())).toBeUndefined()
})

test('the reader skips a text, an object and a null', () => {
  const seen = read(pack({ name: null, other: 1 }), (each) => {
    const size = each.object()
    const passed = [each.passText('nam'), each.passText('name'), each.passNull(), each.passNull()]
    return [size, ...passed, each.passText('othet'), each.passText('other'), each.number()]
  })
  expect(seen).toEqual({ value: [2, false, true, true, false, false, true, 1] })
})

test('the hash of a text is the hash of its bytes', () => {
  forAll([fc.string({ unit: 'binary-ascii', maxLength: 300 })], (value) => {
    expect(read(pack(value), (each) => each.passForHash())).toEqual({ value: textHash(`before/${value}`, 7) })
  })
})

test('an error of the callback is thrown unchanged', () => {
  const fails = () => {
    throw new RangeError('own')
  }
  expect(() => reader.whole(pack(1), fails)).toThrow('own')
})

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

/** The bytes that `write` writes after an earlier value. */
function written(write: (writer: MsgpackWriter) => void): Uint8Array {
  const writer = new MsgpackWriter()
  writer.number(7)
  writer.begin()
  write(writer)
  expect(writer.written.length).toBe(writer.length)
  return writer.written
}

describe('the writer writes the bytes of the general encoder', () => {
  test.each<[string, fc.Arbitrary<unknown>, (writer: MsgpackWriter, value: never) => void, runs: number]>([
    ['numbers', number.map((value) => value + 0), (writer, value) => writer.number(value), 500],
    ['texts of every kind and length', text, (writer, value) => writer.text(value), 300],
    ['any value that is stored', fc.jsonValue(), (writer, value) => writer.any(value), 300],
  ])('for %s', (_, values, write, numRuns) => {
    forAll([values], numRuns, (value) => {
      expect(hex(written((writer) => write(writer, value as never)))).toBe(hex(pack(value)))
    })
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

test('later writes do not change earlier pieces until the writer is cleared', () => {
  const lengths = fc.array(fc.oneof(fc.nat(200), fc.constantFrom(20_000, 70_000)), { maxLength: 60 })
  forAll([fc.array(lengths, { minLength: 1, maxLength: 4 })], 50, (rounds) => {
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
  })
})

test('a large buffer is freed by clear', () => {
  const writer = new MsgpackWriter(100_000)
  writer.append(new Uint8Array(300_000))
  expect(writer.written.buffer.byteLength).toBeGreaterThan(100_000)
  writer.clear()
  expect(writer.written.buffer.byteLength).toBeLessThanOrEqual(100_000)
})
