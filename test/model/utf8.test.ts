import { expect, test } from 'vitest'
import { utf8BytesOf } from '#model/text'
import { anyText } from '#test/kit/any-text'
import { forAll } from '#test/kit/for-all'

test('a text has as many bytes as its UTF-8 encoding', () => {
  forAll([anyText()], (text) => {
    expect(utf8BytesOf(text)).toBe(Buffer.byteLength(text))
  })
})
