import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { RecordFormat } from '#runtime/actor'
import { StorageFailure } from '#runtime/storage'
import { pack, packRecord, unpack, unpackRecord } from '#store/record-codec'

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

  test('is read as it is by the release that wrote it', () => {
    expect(unpackRecord(first, stored)).toEqual({ name: 'one' })
  })

  test('is led up by the next one', () => {
    expect(unpackRecord(second, stored)).toEqual({ names: ['one'] })
  })

  test('is led up step by step, and only the steps it needs', () => {
    expect(unpackRecord(fourth, stored)).toEqual({ names: ['one', 'four'], isLed: true })
    expect(unpackRecord(fourth, packRecord(second, { names: ['two'] }))).toEqual({
      names: ['two', 'four'],
      isLed: true,
    })
    expect(unpackRecord(fourth, packRecord(fourth, { names: [] }))).toEqual({ names: [] })
  })

  test('without a way up is refused, and says which', () => {
    const gapped: RecordFormat = { ...fourth, upgrades: { 1: (value) => value } }
    expect(() => unpackRecord(gapped, stored)).toThrow(
      new StorageFailure('damaged', 'no way from version 2 of a stored made-up'),
    )
  })
})

test('a record of a newer version is refused, and says so', () => {
  const stored = packRecord(fourth, 'from the future')
  expect(() => unpackRecord(second, stored)).toThrow(/made-up has version 4; this release knows 2.*newer/)
  expect(() => unpackRecord(second, stored)).toThrow(expect.objectContaining({ code: 'damaged' }))
})

test.each([
  ['cut off', packRecord(first, { name: 'secret' }).subarray(0, -1)],
  ['with something behind it', Buffer.concat([packRecord(first, { name: 'secret' }), Buffer.from([1])])],
  ['of nothing', new Uint8Array()],
  ['that is no pair', pack([1, 'secret', 'more'])],
  ['that is no array', pack('secret')],
])('a record %s is refused, and not shown', (_, bytes) => {
  const said = "a stored made-up can't be read: look for what is damaged: npm run admin -- repair"
  expect(() => unpackRecord(first, bytes)).toThrow(new StorageFailure('damaged', said))
})

test.each([['x'], [null], [Number.NaN], [[]]])('a record whose version is %j is refused', (version) => {
  expect(() => unpackRecord(first, pack([version, 'value']))).toThrow(StorageFailure)
})

/** Text as JSON has it, of every length and script, with the signs that decoders stumble over. */
const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 80 }),
  fc.string({ unit: 'binary', maxLength: 40 }),
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

test('whatever we can say in JSON comes back as it was', () => {
  fc.assert(
    fc.property(value, (any) => {
      // JSON.stringify says −0 as 0, and so do we.
      const said = JSON.parse(JSON.stringify(any))
      expect(unpack(pack(said))).toEqual(said)
    }),
    { numRuns: 500 },
  )
})

test.each([
  0,
  -1,
  255,
  256,
  65_536,
  2 ** 31,
  2 ** 32,
  2 ** 53 - 1,
  -(2 ** 53) + 1,
  2 ** 53,
  2 ** 63,
  2 ** 64,
  -(2 ** 63),
  1e300,
  5e-324,
  0.1,
  -0.1,
  3.4028234663852886e38,
  Number.MAX_VALUE,
])('%d comes back as that very number', (number) => {
  expect(unpack(pack([number]))).toEqual([number])
})

test('long texts that begin with a byte order mark keep it', () => {
  for (const length of [1, 10, 31, 32, 63, 64, 255, 256, 5_000, 70_000]) {
    const said = `\ufeff${'é'.repeat(length)}`
    expect(unpack(pack(said))).toBe(said)
  }
})

test('nothing but data comes out, whatever a file holds', () => {
  // Extensions that msgpack readers turn into dates, sets, errors or regular expressions.
  const bytes = [
    Uint8Array.of(0xd6, 0xff, 0, 0, 0, 0),
    Uint8Array.of(0xc7, 4, 0x73, 0x93, 1, 2, 3),
    Uint8Array.of(0xd4, 0x72, 0x40),
  ]
  for (const each of bytes) {
    let said: unknown
    try {
      said = unpack(each)
    } catch {
      continue
    }
    expect(said).not.toBeInstanceOf(Set)
    expect(said).not.toBeInstanceOf(RegExp)
    expect(typeof said).not.toBe('function')
  }
})
