import fc from 'fast-check'
import { expect, test } from 'vitest'
import { utf8BytesOf } from '#model/utf8'

test('bytes of a text are counted as UTF-8 has them', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(utf8BytesOf(text)).toBe(Buffer.byteLength(text))
    }),
  )
})
