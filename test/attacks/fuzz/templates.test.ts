import fc from 'fast-check'
import Mustache from 'mustache'
import { describe, expect, test } from 'vitest'
import { validate } from '#http/validation'
import type { JsonObject, JsonValue } from '#model/json-value'
import { type RenderedText, renderedBytesMax, renderMail, subjectCharactersMax } from '#model/mail-text'
import { OutputTooLarge, sectionDepthMax, tagCharactersMax, tagsMax } from '#model/mustache'
import { Problem } from '#model/problem'
import { TemplateBody, templateTextBytesMax } from '#model/template'
import { utf8BytesOf } from '#model/text'
import { dataOf } from '#notifications/mail-data'
import { fuzzRuns } from '#test/attacks/fuzz/fuzz-runs'
import { edited, edits, mutated, odd, oddText } from '#test/attacks/fuzz/mutation'

/**
 * Mutated and hostile templates. Invalid templates are refused with reasons. Valid ones are within the limits, and
 * render only their text and their data.
 */

const names = [
  ...['value', 'previous', 'device', 'meta.site.floor', 'meta.list', 'meta.list.length', 'meta.odd', 'on', '.', 'no'],
  ...['constructor', '__proto__', 'toString', 'valueOf', 'hasOwnProperty', 'meta.constructor.constructor', 'length'],
  ...['value.__proto__.secret', 'secret', 'meta.secret', 'view', 'parent', 'cache', 'lookup', 'a b', '', '..', 'a.'],
]
const name = fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...names) }, { weight: 1, arbitrary: oddText })
const word = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('x', '\n', '<b a="', "'", '&', '{', '}}', '🔥', '\t', '{ {', '\u2028') },
  { weight: 1, arbitrary: oddText },
)
const white = fc.constantFrom('', '', '', ' ', '\n', ' '.repeat(300))
const { good, hostile } = fc.letrec<{ good: string; hostile: string; part: string; section: string }>((tie) => ({
  good: fc.array(tie('part'), { maxLength: 5 }).map((parts) => parts.join('')),
  part: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    word,
    fc.tuple(white, name).map(([space, what]) => `{{${space}${what}${space}}}`),
    name.map((what) => `{{!${what}}}`),
    tie('section'),
  ),
  section: fc
    .tuple(fc.constantFrom('#', '^'), name, tie('good'))
    .map(([kind, what, body]) => `{{${kind}${what}}}${body}{{/${what}}}`),
  hostile: fc.oneof(
    tie('good'),
    fc.tuple(tie('good'), edits(4)).map(([text, all]) => edited(Buffer.from(text), all).toString()),
    fc.tuple(fc.constantFrom('{', '&', '>', '=', '/', '#', '^', '!'), name).map(([kind, what]) => `{{${kind}${what}}}`),
    // These are near the limits of the number of tags, the depth, the length of a tag, and the size of the template.
    fc
      .tuple(fc.constantFrom('{{value}}', '{{#meta}}', '{{^no}}x', '{{', '{{!', ' ', '}}', 'ä'), fc.nat(1_100))
      .map(([piece, count]) => piece.repeat(count)),
    fc.nat(20).map((depth) => `${'{{#meta.list}}'.repeat(depth)}{{.}}${'{{/meta.list}}'.repeat(depth)}`),
    fc.integer({ min: 240, max: 270 }).map((length) => `{{${'a'.repeat(length)}}}`),
    fc.integer({ min: 32_760, max: 32_780 }).map((length) => 'x'.repeat(length)),
  ),
}))

/** The body of PUT: one locale, or a mutated template. */
const body: fc.Arbitrary<unknown> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .tuple(fc.oneof(fc.constant('s'), hostile), hostile, fc.option(hostile))
      .map(([subject, text, html]) => ({ locales: { en: { subject, text, ...(html !== null && { html }) } } })),
  },
  {
    weight: 1,
    arbitrary: mutated({ locales: { en: { subject: 'a', text: '{{value}}', html: '<p>{{value}}</p>' }, de: {} } }),
  },
)

/** Validates a template. */
function put(template: unknown): TemplateBody | Problem {
  try {
    return validate(TemplateBody, template) as TemplateBody
  } catch (error) {
    if (error instanceof Problem) return error
    throw error
  }
}

const evil = `</p><script a='1' b="2">&\`=/\r\nBcc: x@y\0\u2028{{value}}{{{value}}}`
const value = fc.oneof(fc.constant(evil), oddText, odd) as fc.Arbitrary<JsonValue>

/** The data of a run. */
const data: fc.Arbitrary<JsonObject> = fc
  .record({ value, previous: value, odd: value, list: fc.array(value, { maxLength: 4 }), text: oddText })
  .map(({ value, previous, odd, list, text }) =>
    dataOf(
      { device: text, at: 1_700_000_000_000, value, previous, cause: { on: 'alarm', alarm: evil } },
      { functionName: evil, meta: { odd, list, site: { floor: evil } } },
    ),
  )

/** Renders the mail; undefined if it is too large. */
function render(template: TemplateBody, view: JsonObject): RenderedText | undefined {
  try {
    return renderMail(template, 'en', view)
  } catch (error) {
    expect(error).toBeInstanceOf(OutputTooLarge)
    return undefined
  }
}

describe('templates', () => {
  test('are refused with reasons, or are within the limits', () => {
    let [accepted, refused] = [0, 0]
    fc.assert(
      fc.property(body, (template) => {
        const answer = put(template)
        if (answer instanceof Problem) {
          refused++
          expect([answer.code, answer.details?.length]).toEqual(['invalid', expect.any(Number)])
          for (const { message } of answer.details ?? []) {
            expect(message).toMatch(/\S/)
            expect(message.length).toBeLessThan(2 * tagCharactersMax)
          }
          return
        }
        accepted++
        for (const { subject, text, html = '' } of Object.values(answer.locales)) {
          expect([...subject].length).toBeLessThanOrEqual(subjectCharactersMax)
          for (const each of [subject, text, html]) {
            expect(utf8BytesOf(each)).toBeLessThanOrEqual(templateTextBytesMax)
            const { tags, depth, kinds } = shapeOf(Mustache.parse(each))
            expect([tags <= tagsMax, depth <= sectionDepthMax]).toEqual([true, true])
            expect([...kinds].filter((kind) => !['text', 'name', '#', '^', '!'].includes(kind))).toEqual([])
          }
        }
      }),
      fuzzRuns(250),
    )
    expect([accepted > 0, refused > 0]).toEqual([true, true])
  })

  test('render only their data, and read no other properties', () => {
    let [accepted, rendered] = [0, 0]
    fc.assert(
      fc.property(body, data, (template, view) => {
        const answer = put(template)
        if (answer instanceof Problem) return
        accepted++
        const before = JSON.stringify(view)
        const reached: PropertyKey[] = []
        const mail = render(answer, guarded(view, reached) as JsonObject)
        expect(reached).toEqual([])
        expect(render(answer, view)).toEqual(mail)
        expect(JSON.stringify(view)).toBe(before)
        if (!mail) return
        rendered++
        const { subject, text, html = '' } = mail
        expect(subject).toMatch(/^[^\p{Cc}\p{Zl}\p{Zp}]*$/u)
        expect([...subject].length).toBeLessThanOrEqual(subjectCharactersMax)
        expect(utf8BytesOf(subject) + utf8BytesOf(text) + utf8BytesOf(html)).toBeLessThanOrEqual(renderedBytesMax)
        for (const each of [text, html]) expect(each).toMatch(/^(?:[^\p{Cc}]|[\t\n\r])*$/u)
      }),
      fuzzRuns(250),
    )
    expect([accepted > 0, rendered > 0]).toEqual([true, true])
    expect(Object.keys(Object.prototype)).toEqual([])
  })

  test('without markup in their HTML render no markup from their data', () => {
    let escaped = 0
    fc.assert(
      fc.property(good, data, (text, view) => {
        const html = text.replace(/[<>"'&]/g, '')
        const answer = put({ locales: { en: { subject: 's', text: '', html } } })
        if (answer instanceof Problem) return
        const mail = render(answer, view)?.html ?? ''
        expect(mail).not.toMatch(/[<>"']|&(?!(?:amp|lt|gt|quot|#39|#x2F|#x60|#x3D);)/)
        if (mail.includes('&lt;')) escaped++
      }),
      fuzzRuns(250),
    )
    expect(escaped).toBeGreaterThan(0)
  })
})

/** The tags of a text as the library parses it. */
function shapeOf(tokens: ReturnType<typeof Mustache.parse>): { tags: number; depth: number; kinds: Set<string> } {
  const seen = { tags: 0, depth: 0, kinds: new Set<string>() }
  const walk = (all: readonly unknown[][], depth: number) => {
    seen.depth = Math.max(seen.depth, depth)
    for (const [kind, , , , inner] of all) {
      seen.kinds.add(String(kind))
      if (kind !== 'text') seen.tags++
      if (Array.isArray(inner)) walk(inner, depth + 1)
    }
  }
  walk(tokens as readonly unknown[][], 0)
  return seen
}

/** The data with a prototype that records every access. */
function guarded(view: JsonValue, reached: PropertyKey[]): JsonValue {
  const note = (key: PropertyKey) => {
    reached.push(key)
    return undefined
  }
  const guard = new Proxy(Object.create(null), {
    get: (_, key) => note(key),
    has: (_, key) => note(key) !== undefined,
    getOwnPropertyDescriptor: (_, key) => note(key),
  })
  const copy = (node: JsonValue): JsonValue => {
    if (typeof node !== 'object' || node === null) return node
    if (Array.isArray(node)) return node.map(copy)
    const own = Object.entries(node).map(([key, inner]) => [
      key,
      { value: copy(inner), enumerable: true, writable: true, configurable: true },
    ])
    return Object.create(guard, Object.fromEntries(own)) as JsonObject
  }
  return copy(view)
}
