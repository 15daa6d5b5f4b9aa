import fc from 'fast-check'
import { expect, test } from 'vitest'
import { base64urlOf, isBase64url, isCompactJws, readBase64url } from '#access/secret-text'

test('all bytes have one text, which decodes to them', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
      const text = base64urlOf(bytes)
      expect(text).toBe(Buffer.from(bytes).toString('base64url'))
      expect(new Uint8Array(readBase64url(text) ?? [])).toEqual(bytes)
    }),
  )
})

test('only the canonical text of bytes is accepted', () => {
  const character = fc.constantFrom(...'ABCDefgh0123-_+/= \n.')
  fc.assert(
    fc.property(fc.string({ unit: character, maxLength: 12 }), (text) => {
      const isIt = /^(?:[\w-]{4})*(?:[\w-][AQgw]|[\w-]{2}[AEIMQUYcgkosw048])?$/.test(text)
      expect(isBase64url(text)).toBe(isIt)
      expect(readBase64url(text) !== undefined).toBe(isIt)
    }),
    { numRuns: 1_000 },
  )
})

test('only the bytes of a view are encoded, not the larger buffer below it', () => {
  expect(base64urlOf(Uint8Array.of(1, 2, 3, 4).subarray(1, 3))).toBe('AgM')
})

test.each(['A', 'AB', 'AAB', 'AAAAB', 'AA==', 'AA=', 'A+AA', 'A/AA', ' AA', 'AA\n', 'ÄA', 'AA\u0000'])(
  'an invalid text such as %j is refused',
  (text) => {
    expect(readBase64url(text)).toBeUndefined()
  },
)

test.each([
  '',
  '..',
  'AAAA.AAAA',
  '.AAAA.AAAA',
  'AAAA..AAAA',
  'AAAA.AAAA.AAAA.',
  'AAAA.AAAA.AAAA.AAAA',
  'AA=.AAAA.AAAA',
  'AB.AAAA.AAAA',
  'AAAA.AAAA.AA AA',
])('a text such as %j is not a JWS', (text) => {
  expect(isCompactJws(text)).toBe(false)
  expect(isCompactJws('AAAA.AA.')).toBe(true)
})
