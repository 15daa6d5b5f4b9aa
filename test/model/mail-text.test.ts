import { describe, expect, test } from 'vitest'
import type { JsonObject } from '#model/json-value'
import { renderedBytesMax, renderMail } from '#model/mail-text'
import { OutputTooLarge } from '#model/mustache'
import type { TemplateText } from '#model/template'

const words = (more: Partial<TemplateText>): TemplateText => ({ subject: 's', text: 't', ...more })

function renderedIn(more: Partial<TemplateText>, data: JsonObject) {
  return renderMail({ locales: { en: words(more) } }, 'en', data)
}

test('texts are those of the locale, of its language, or of en', () => {
  const locales = { en: words({ text: 'hot: {{value}}' }), de: words({ text: 'heiß: {{value}}', html: '<p>heiß</p>' }) }
  expect(renderMail({ locales }, 'de-CH', { value: 3 })).toEqual({
    locale: 'de',
    subject: 's',
    text: 'heiß: 3',
    html: '<p>heiß</p>',
  })
  expect(renderMail({ locales }, 'fr', { value: 3 })).toEqual({ locale: 'en', subject: 's', text: 'hot: 3' })
})

test('a template that is put again has its new texts', () => {
  const of = (text: string) => renderMail({ locales: { en: words({ text }) } }, 'en', {}).text
  expect([of('a'), of('b'), of('a')]).toEqual(['a', 'b', 'a'])
})

test('values are escaped only in HTML', () => {
  const value = `<b a="1" b='2'>&amp;</b> \`x\` = /`
  const tag = '{{value}}'
  expect(renderedIn({ subject: tag, text: tag, html: tag }, { value })).toMatchObject({
    subject: value,
    text: value,
    html: '&lt;b a&#x3D;&quot;1&quot; b&#x3D;&#39;2&#39;&gt;&amp;amp;&lt;&#x2F;b&gt; &#x60;x&#x60; &#x3D; &#x2F;',
  })
})

test('control characters become spaces, except tabs and line ends in texts', () => {
  const value = 'a\r\nb\rc\nd\te\0f\x1bg\x7fh\u0085i\u2028j\u2029k'
  const tag = '{{value}}'
  const lines = 'a\nb\nc\nd\te f g h i\u2028j\u2029k'
  expect(renderedIn({ subject: tag, text: tag, html: tag }, { value })).toMatchObject({
    subject: 'a  b c d e f g h i j k',
    text: lines,
    html: lines,
  })
})

test.each([
  [256, 'a', 'a'.repeat(256)],
  [257, 'a', `${'a'.repeat(255)}…`],
  [10_000, 'a', `${'a'.repeat(255)}…`],
  [256, '🔥', '🔥'.repeat(256)],
  [257, '🔥', `${'🔥'.repeat(255)}…`],
])('a subject of %i times %s is cut after 255 characters if it has more than 256', (count, character, subject) => {
  expect(renderedIn({ subject: '{{value}}' }, { value: character.repeat(count) }).subject).toBe(subject)
})

describe('a mail has at most 256 KiB', () => {
  const value = 'x'.repeat(1_024)

  test('of subject, text and HTML together', () => {
    const list = Array.from({ length: 127 }, () => value)
    const loop = '{{#list}}{{.}}{{/list}}'
    const whole = renderedIn({ subject: value.slice(0, 256), text: loop, html: loop }, { list })
    expect(whole.text.length + (whole.html?.length ?? 0)).toBe(2 * 127 * 1_024)
    const more = { list: [...list, value] }
    expect(() => renderedIn({ text: loop, html: loop }, more)).toThrow(OutputTooLarge)
    expect(renderedIn({ text: loop }, more).text).toHaveLength(128 * 1_024)
  })

  test('for any number of repetitions', () => {
    const list = Array.from({ length: 10_000 }, () => 1)
    expect(() => renderedIn({ text: '{{#list}}{{value}}{{/list}}' }, { list, value })).toThrow(OutputTooLarge)
    expect(() => renderedIn({ subject: '{{#list}}{{value}}{{/list}}' }, { list, value })).toThrow(OutputTooLarge)
    expect(renderedBytesMax).toBe(262_144)
  })
})
