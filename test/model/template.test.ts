import { expect, test } from 'vitest'
import { localeIn } from '#model/mail-text'
import { TemplateBody, type TemplateText, templateEntryOf } from '#model/template'

const text: TemplateText = { subject: 'Too hot', text: 'It is {{value}} °C.' }

function issuesOf(body: unknown): { path: string; message: string }[] {
  const { error } = TemplateBody.safeParse(body)
  return (error?.issues ?? []).map(({ path, message }) => ({ path: path.join('.'), message }))
}

test.each<[what: string, body: unknown]>([
  ['with texts in en', { locales: { en: text } }],
  ['with HTML', { locales: { en: { ...text, html: '<p>{{value}}</p>' } } }],
  ['with several locales', { locales: { en: text, de: text, 'de-CH': text } }],
  ['with 64 locales', { locales: localesOf(64) }],
  ['with every tag', { locales: { en: { subject: '{{value}}', text: '{{#a}}{{b.c}}{{/a}}{{^a}}-{{/a}}{{! x }}' } } }],
  ['with a subject only', { locales: { en: { subject: 'Too hot', text: '' } } }],
  ['with 256 characters of subject', { locales: { en: { ...text, subject: '🔥'.repeat(256) } } }],
  ['with 32 KiB of text', { locales: { en: { ...text, text: 'ä'.repeat(16_384) } } }],
  ['with lines and tabs', { locales: { en: { ...text, text: 'a\n\tb\r\nc' } } }],
])('a template is accepted %s', (_, body) => {
  expect(TemplateBody.parse(body)).toEqual(body)
})

function localesOf(count: number, words = text.text): Record<string, TemplateText> {
  const letters = 'abcdefghijklmnopqrstuvwxyz'
  const names = Array.from({ length: count - 1 }, (_, n) => `${letters[Math.floor(n / 26)]}${letters[n % 26]}`)
  return Object.fromEntries(['en', ...names].map((name) => [name, { ...text, text: words }]))
}

const withEnglish = (more: object) => ({ locales: { en: { ...text, ...more } } })

test.each<[what: string, body: unknown, path: string, fragment?: string]>([
  ['nothing', undefined, ''],
  ['a text', 'Too hot', ''],
  ['without locales', {}, 'locales'],
  ['with an unknown field', { locales: { en: text }, name: 'hot' }, ''],
  ['empty', { locales: {} }, 'locales', 'must have en'],
  ['without en', { locales: { de: text } }, 'locales', 'must have en'],
  ['of 65 locales', { locales: localesOf(65) }, 'locales', 'at most 64'],
  ['with a locale in capitals', { locales: { en: text, DE: text } }, 'locales.DE'],
  ['with a language of three letters', { locales: { en: text, deu: text } }, 'locales.deu'],
  ['with a region in small letters', { locales: { en: text, 'de-ch': text } }, 'locales.de-ch'],
  ['in __proto__', JSON.parse('{"locales":{"en":{"subject":"a","text":"b"},"__proto__":{}}}'), 'locales'],
  ['without a subject', { locales: { en: { text: 'a' } } }, 'locales.en.subject'],
  ['without a text', { locales: { en: { subject: 'a', html: '<p>a</p>' } } }, 'locales.en.text'],
  ['with a recipient', withEnglish({ to: 'bob@example.com' }), 'locales.en'],
  ['with an empty subject', withEnglish({ subject: '' }), 'locales.en.subject'],
  ['with a subject of 257 characters', withEnglish({ subject: 'a'.repeat(257) }), 'locales.en.subject', 'at most 256'],
  ['with a subject of 257 large characters', withEnglish({ subject: '🔥'.repeat(257) }), 'locales.en.subject'],
  ['with a line break in the subject', withEnglish({ subject: 'a\nb' }), 'locales.en.subject', 'one line'],
  ['with a carriage return in the subject', withEnglish({ subject: 'a\rBcc: b@c' }), 'locales.en.subject', 'one line'],
  ['with a line separator in the subject', withEnglish({ subject: 'a\u2028b' }), 'locales.en.subject', 'one line'],
  ['with a zero in the subject', withEnglish({ subject: 'a\0b' }), 'locales.en.subject', 'one line'],
  ['with a zero in the text', withEnglish({ text: 'a\0b' }), 'locales.en.text', 'control characters'],
  ['with an escape in the HTML', withEnglish({ html: 'a\x1bb' }), 'locales.en.html', 'control characters'],
  ['with a lone surrogate', withEnglish({ text: 'a\ud800' }), 'locales.en.text', 'well-formed'],
  ['of more than 32 KiB', withEnglish({ text: 'ä'.repeat(16_385) }), 'locales.en.text', '32768 bytes'],
  ['of more than 128 KiB', { locales: localesOf(10, 'a'.repeat(60_000)) }, '', '131072 bytes'],
  ['unescaped', withEnglish({ subject: '{{{value}}}' }), 'locales.en.subject', 'line 1: {{{value}}: values'],
])('a template is refused: %s', (_, body, path, fragment = '') => {
  expect(issuesOf(body)).toEqual([{ path, message: expect.stringContaining(fragment) }])
})

test.each([
  ['de-CH', ['en', 'de', 'de-CH'], 'de-CH'],
  ['de-CH', ['en', 'de', 'de-AT'], 'de'],
  ['de-CH', ['en', 'de-AT'], 'en'],
  ['de', ['en', 'de-CH'], 'en'],
  ['de', ['en', 'de'], 'de'],
  ['en-US', ['en', 'de'], 'en'],
  ['fr', ['en', 'de'], 'en'],
  ['', ['en'], 'en'],
  ['__proto__', ['en'], 'en'],
  ['constructor', ['en'], 'en'],
  ['toString-XX', ['en'], 'en'],
])('a recipient with locale %s gets, of the texts in %j, those in %s', (wanted, there, found) => {
  expect(localeIn(Object.fromEntries(there.map((locale) => [locale, text])), wanted)).toBe(found)
})

test('a template is shown with its name', () => {
  const stored = { locales: { en: text }, createdBy: 'crn#user:a', createdAt: 1, updatedBy: 'crn#user:b', updatedAt: 2 }
  expect(templateEntryOf('acme', 'too.hot', stored)).toEqual({
    ...stored,
    name: 'too.hot',
    resourceIdentifier: 'crn#template:acme/too.hot',
  })
})
