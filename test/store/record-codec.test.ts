import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { RecordFormat } from '#runtime/actor'
import { StorageFailure } from '#runtime/storage'
import { pack, packRecord, unpack, unpackRecord } from '#store/record-codec'
import { anyText } from '#test/kit/any-text'
import { forAll } from '#test/kit/for-all'

const first: RecordFormat = { name: 'made-up', version: 1, upgrades: {} }
const second: RecordFormat = {
  name: 'made-up',
  version: 2,
  upgrades: { 1: (value) => ({ names: [(value as { name: string }).name] }) },
}
const fourth: RecordFormat = {
  ...second,
  version: 4,
  upgrades: {
    ...second.upgrades,
    2: (value) => ({ ...(value as object), isLed: true }),
    3: (value) => ({ ...(value as object), names: [...(value as { names: string[] }).names, 'four'] }),
  },
}

describe('a record of an older version', () => {
  const stored = packRecord(first, { name: 'one' })

  test('is upgraded step by step, by the steps it needs', () => {
    expect(unpackRecord(first, stored)).toEqual({ name: 'one' })
    expect(unpackRecord(second, stored)).toEqual({ names: ['one'] })
    expect(unpackRecord(fourth, stored)).toEqual({ names: ['one', 'four'], isLed: true })
    const upgraded = unpackRecord(fourth, packRecord(second, { names: ['two'] }))
    expect(upgraded).toEqual({ names: ['two', 'four'], isLed: true })
    expect(unpackRecord(fourth, packRecord(fourth, { names: [] }))).toEqual({ names: [] })
  })

  test('without an upgrade is refused with an error that names the version', () => {
    const gapped: RecordFormat = { ...fourth, upgrades: { 1: (value) => value } }
    expect(() => unpackRecord(gapped, stored)).toThrow(
      new StorageFailure('damaged', 'version 2 of a stored made-up cannot be upgraded'),
    )
  })
})

test('a record of a newer version is refused with an error that names both versions', () => {
  const stored = packRecord(fourth, 'from the future')
  expect(() => unpackRecord(second, stored)).toThrow(/made-up has version 4; this release knows 2.*newer/)
  expect(() => unpackRecord(second, stored)).toThrow(expect.objectContaining({ code: 'damaged' }))
})

test.each([
  ['cut off', packRecord(first, { name: 'secret' }).subarray(0, -1)],
  ['followed by a byte', Buffer.concat([packRecord(first, { name: 'secret' }), Buffer.from([1])])],
  ['without bytes', new Uint8Array()],
  ['with three parts', pack([1, 'secret', 'more'])],
  ['that is not an array', pack('secret')],
])('a record %s is refused, and its content is not in the error', (_, bytes) => {
  const message = 'a stored made-up cannot be read; to find the damage, run npm run admin -- repair'
  expect(() => unpackRecord(first, bytes)).toThrow(new StorageFailure('damaged', message))
})

test.each([['x'], [null], [Number.NaN], [[]]])('a record whose version is %j is refused', (version) => {
  expect(() => unpackRecord(first, pack([version, 'value']))).toThrow(StorageFailure)
})

/** Text of every length and script, with characters that are hard to decode. */
const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 80 }),
  anyText({ maxLength: 40 }),
  fc
    .tuple(fc.constantFrom('\ufeff', '\0', '\u2028', '😀', '\uffff', ''), fc.string({ maxLength: 300 }))
    .map((parts) => parts.join('')),
)

const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constant(null),
    fc.boolean(),
    fc.integer(),
    fc.maxSafeInteger(),
    fc.double({ noNaN: true }),
    text,
    fc.array(tie('any'), { maxLength: 20 }),
    fc.dictionary(
      text.filter((key) => key !== '__proto__'),
      tie('any'),
      { maxKeys: 20 },
    ),
  ),
})).any

test('any JSON value reads back as written', () => {
  forAll([value], 500, (any) => {
    // As in JSON.stringify, −0 becomes 0.
    const json = JSON.parse(JSON.stringify(any))
    expect(unpack(pack(json))).toEqual(json)
  })
})

test('long texts that begin with a byte order mark keep it', () => {
  for (const length of [1, 10, 31, 32, 63, 64, 255, 256, 5_000, 70_000]) {
    const long = `\ufeff${'é'.repeat(length)}`
    expect(unpack(pack(long))).toBe(long)
  }
})

test('the decoder returns plain data for extension types', () => {
  // Extensions that msgpack decoders turn into dates, sets, errors or regular expressions.
  const bytes = [
    [0xd6, 0xff, 0, 0, 0, 0],
    [0xc7, 4, 0x73, 0x93, 1, 2, 3],
    [0xd4, 0x72, 0x40],
  ]
  for (const each of bytes) {
    let decoded: unknown
    try {
      decoded = unpack(Uint8Array.from(each))
    } catch {
      continue
    }
    expect(decoded).not.toBeInstanceOf(Set)
    expect(decoded).not.toBeInstanceOf(RegExp)
    expect(typeof decoded).not.toBe('function')
  }
})
