import fc from 'fast-check'
import { expect, test } from 'vitest'
import { utf8BytesOf } from '#model/text'
import { anyText } from '#test/kit/any-text'

test('a text has as many bytes as its UTF-8 encoding', () => {
  fc.assert(
    fc.property(anyText(), (text) => {
      expect(utf8BytesOf(text)).toBe(Buffer.byteLength(text))
    }),
  )
})
