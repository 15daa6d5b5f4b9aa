import fc from 'fast-check'
import Mustache from 'mustache'
import { describe, expect, test } from 'vitest'
import type { JsonObject, JsonValue } from '#model/json-value'
import {
  escapeHtml,
  type MustacheFault,
  type MustacheTokens,
  OutputTooLarge,
  parseMustache,
  renderMustache,
  sectionDepthMax,
  tagCharactersMax,
  tagsMax,
} from '#model/mustache'
import { forAll } from '#test/kit/for-all'

const plain = (text: string) => text

function tokensOf(template: string): MustacheTokens {
  const tokens = parseMustache(template)
  if ('message' in tokens) throw new Error(`${template}: line ${tokens.line}: ${tokens.message}`)
  return tokens
}

function faultOf(template: string): MustacheFault | undefined {
  const parsed = parseMustache(template)
  return 'message' in parsed ? parsed : undefined
}

function render(template: string, data: JsonObject, bytesMax = 1_000): string {
  return renderMustache(tokensOf(template), data, { escape: plain, bytesMax })
}

describe('the renderer agrees with Mustache', () => {
  const names = ['a', 'b', 'c', 'list', 'a.b', 'a.b.c', 'list.length', '.', 'no', 'text.length']
  const number = fc.oneof(fc.integer(), fc.double({ noNaN: true }))
  const scalar = fc.oneof(fc.boolean(), number, fc.string(), fc.constantFrom('', 0, '<&"'))
  const optional = { requiredKeys: [], noNullPrototype: true } as { requiredKeys: never[]; noNullPrototype: true }
  const inner = fc.record({ a: scalar, b: scalar, c: fc.array(scalar, { maxLength: 3 }) }, optional)
  const middle = fc.record({ a: inner, b: fc.oneof(scalar, inner), c: scalar }, optional)
  const data: fc.Arbitrary<JsonObject> = fc.record(
    {
      a: fc.oneof(scalar, inner, middle, fc.constant(null)),
      b: fc.oneof(scalar, middle, fc.array(middle, { maxLength: 3 })),
      c: fc.array(fc.array(scalar, { maxLength: 2 }), { maxLength: 2 }),
      list: fc.array(fc.oneof(scalar, inner, middle), { maxLength: 3 }),
      text: fc.string(),
    },
    { requiredKeys: [], noNullPrototype: true },
  )
  const white = fc.constantFrom('', ' ', '\t', '\n', '\r\n', '  ')
  const word = fc.oneof(white, fc.constantFrom('x', '{', '}', '<b>', 'ä', '{ {', '}}'))
  const { template } = fc.letrec<{ template: string; part: string }>((tie) => ({
    template: fc.array(tie('part'), { maxLength: 6 }).map((parts) => parts.join('')),
    part: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      word,
      fc.tuple(white, fc.constantFrom(...names), white).map(([left, name, right]) => `{{${left}${name}${right}}}`),
      fc.tuple(white, fc.constantFrom(...names, '# =')).map(([left, name]) => `{{!${left}${name}}}`),
      fc
        .tuple(fc.constantFrom('#', '^'), fc.constantFrom(...names), white, tie('template'), white)
        .map(
          ([kind, name, left, body, right]) => `${left}{{${kind}${name}}}${right}${body}${left}{{/ ${name} }}${right}`,
        ),
    ),
  }))

  test('for any tags, data and white space', () => {
    let compared = 0
    forAll([template, data], 500, (text, values) => {
      // A brace next to a tag would make another tag.
      fc.pre(faultOf(text) === undefined)
      compared++
      const bytesMax = 1_000_000
      const expected = Mustache.render(text, values, {}, { escape: String })
      expect(renderMustache(tokensOf(text), values, { escape: plain, bytesMax })).toBe(expected)
      expect(renderMustache(tokensOf(text), values, { escape: escapeHtml, bytesMax })).toBe(
        Mustache.render(text, values),
      )
    })
    expect(compared).toBeGreaterThan(200)
  })
})

test.each<[template: string, data: JsonObject, output: string]>([
  ['{{meta.site.floor}}', { meta: { site: { floor: 3 } } }, '3'],
  ['{{meta.site.floor}}', { 'meta.site.floor': 4, meta: { site: { floor: 3 } } }, '4'],
  ['{{#meta}}{{site.floor}}{{/meta}}', { meta: { 'site.floor': 5, site: { floor: 3 } } }, '5'],
  ['{{#a}}{{b}}{{/a}}', { a: { c: 1 }, b: 'outer' }, 'outer'],
  ['{{#a}}{{b}}{{/a}}', { a: { b: null }, b: 'outer' }, ''],
  ['{{#a}}{{b.c}}{{/a}}', { a: { b: {} }, b: { c: 'outer' } }, 'outer'],
  ['{{#list}}[{{x}}]{{/list}}', { list: [null, 1, 'text', true], x: 'y' }, '[y][y][y][y]'],
  ['{{#list}}{{.}},{{/list}}', { list: [null, 0, '', false, 'a'] }, ',0,,false,a,'],
  ['{{#list}}{{#.}}{{.}}{{/.}};{{/list}}', { list: [[1, 2], [3]] }, '12;3;'],
  ['{{list}} {{list.length}} {{list.1}}', { list: ['a', null, ['b', 1.5]] }, 'a,,b,1.5 3 '],
  ['{{o}} {{list}}', { o: { a: 1 }, list: [{}, {}] }, '[object Object] [object Object],[object Object]'],
  ['{{a}}{{a}}', { a: 1 }, '11'],
])('a lookup finds %s in %j', (template, data, output) => {
  expect(render(template, data)).toBe(output)
})

describe('a lookup finds no name outside the data', () => {
  const names = [
    ...['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf', 'isPrototypeOf', '__defineGetter__'],
    ...['length', 'name', 'call', 'map', 'cache', 'view', 'parent', 'lookup', 'push', 'at', 'prototype'],
  ]
  const holders: [string, JsonValue][] = [
    ['an object', {}],
    ['a text', 'text'],
    ['a number', 1],
    ['a boolean', true],
    ['null', null],
  ]

  test.each(holders)('in %s', (_, value) => {
    for (const name of names) {
      const members = [name, `constructor.${name}`, `__proto__.${name}`, `${name}.${name}`]
      for (const path of [name, ...members.map((member) => `value.${member}`)]) {
        const isOwn = typeof value === 'string' && path === 'value.length'
        expect(render(`{{${path}}}`, { value }), path).toBe(isOwn ? '4' : '')
        const inside = `{{#value}}{{${name}}}{{/value}}{{#${path}}}yes{{/${path}}}{{^${path}}}no{{/${path}}}`
        expect(render(inside, { value }), path).toBe(isOwn ? 'yes' : 'no')
      }
    }
  })

  test('except the length of a list', () => {
    for (const name of names) {
      const isOwn = name === 'length'
      expect(render(`{{list.${name}}}`, { list: [1, 2] }), name).toBe(isOwn ? '2' : '')
    }
  })

  test('also after a lookup of the same name', () => {
    expect(render('{{hasOwnProperty}}{{a}}{{__proto__}}{{a}}', { a: 1 })).toBe('11')
  })

  test('but finds data that has such a name', () => {
    const data: JsonObject = { toString: 'a', valueOf: 'b', hasOwnProperty: 'c', inner: { toString: 1, valueOf: 2 } }
    expect(render('{{toString}}{{valueOf}}{{hasOwnProperty}} {{inner}} {{inner.toString}}', data)).toBe(
      'abc [object Object] 1',
    )
  })
})

describe('a template is refused', () => {
  const many = (count: number, text: string) => text.repeat(count)
  test.each<[template: string, line: number, output: string]>([
    ['{{{a}}}', 1, '{{{a}}: values cannot be left unescaped'],
    ['a\n{{ { a } }}', 2, 'values cannot be left unescaped'],
    ['{{& a}}', 1, '{{& a}}: values cannot be left unescaped'],
    ['{{\n&a}}', 1, 'values cannot be left unescaped'],
    ['\r\n\r\n{{> part }}', 3, '{{> part }}: there are no partials'],
    ['{{=<% %>=}}<%& a%>', 1, '{{=<% %>=}}: tags cannot be changed'],
    ['{{=}}', 1, 'tags cannot be changed'],
    ['{{a', 1, '{{a: the tag has no end'],
    ['a\n{{', 2, '{{: the tag has no end'],
    ['{{a}', 1, 'the tag has no end'],
    ['{{! a', 1, 'the tag has no end'],
    ['{{#a}}', 1, 'unclosed section "a"'],
    ['{{#a}}\n{{/b}}', 2, 'unclosed section "a"'],
    ['{{#a}}{{#b}}\n\n{{/a}}{{/b}}', 3, 'unclosed section "b"'],
    ['{{#a b}}\n', 2, 'unclosed section "a b"'],
    ['\n{{/a}}', 2, 'unopened section "a"'],
    ['{{/}}', 1, 'unopened section'],
    ['{{^a}}', 1, 'unclosed section "a"'],
    [`${many(sectionDepthMax + 1, '{{#a}}')}${many(sectionDepthMax + 1, '{{/a}}')}`, 1, '16 inside each other'],
    [`\n${many(tagsMax + 1, '{{a}}')}`, 2, 'at most 1000 tags'],
    [`{{${many(tagCharactersMax, 'a')}}}`, 1, 'a tag has at most 256 characters'],
    [`{{!${many(65_000, ' ')}}}`, 1, 'a tag has at most 256 characters'],
    [`{{${many(65_000, ' ')}`, 1, 'the tag has no end'],
  ])('for %.30j', (template, line, output) => {
    const fault = faultOf(template)
    expect(fault).toMatchObject({ line, message: expect.stringContaining(output) })
    expect(fault?.message.length).toBeLessThan(120)
  })

  test('but not within the limits', () => {
    const nested = `${many(sectionDepthMax, '{{#a}}')}x${many(sectionDepthMax, '{{/a}}')}`
    expect(render(nested, { a: true })).toBe('x')
    expect(render(many(tagsMax, '{{a}}'), { a: 'x' })).toBe(many(tagsMax, 'x'))
    expect(render(`{{!${many(tagCharactersMax - 5, 'a')}}}b`, {})).toBe('b')
  })

  test('and any other text is accepted or refused with a fault', () => {
    const pieces = fc.constantFrom('{{', '}}', ...'{}#^/!&>= \nab."')
    forAll([fc.array(pieces, { maxLength: 30 })], 500, (parts) => {
      const text = parts.join('')
      const fault = faultOf(text)
      if (fault) expect(fault.line).toBeLessThanOrEqual(text.split('\n').length)
      else expect(() => render(text, { a: [1], b: 'b' }, 100_000)).not.toThrow()
    })
  })
})

describe('a rendering ends', () => {
  const list = (count: number): JsonValue => Array.from({ length: count }, () => 1)

  test('as soon as the result is too large', () => {
    let escaped = 0
    const counting = (text: string) => {
      escaped++
      return text
    }
    const template = tokensOf('{{#list}}{{value}}{{/list}}')
    const data = { list: list(10_000), value: 'x'.repeat(1_024) }
    expect(() => renderMustache(template, data, { escape: counting, bytesMax: 262_144 })).toThrow(OutputTooLarge)
    expect(escaped).toBe(257)
  })

  test('at a limit in bytes, not in characters', () => {
    expect(render('{{a}}b', { a: 'ä€' }, 6)).toBe('ä€b')
    expect(() => render('{{a}}b', { a: 'ä€' }, 5)).toThrow(OutputTooLarge)
    expect(() => render('äb', {}, 2)).toThrow(OutputTooLarge)
  })

  test.each([
    ['no text', ''],
    ['a missing value', '{{no}}'],
  ])('in nested lists with %s', (_, body) => {
    const template = `${'{{#list}}'.repeat(8)}${body}${'{{/list}}'.repeat(8)}`
    expect(() => render(template, { list: list(64) })).toThrow(OutputTooLarge)
  })

  const longName = Array.from({ length: 120 }, () => 'a').join('.')
  test.each([
    ['nested names', `${'{{#o}}'.repeat(9)}{{#list}}{{${longName}}}{{/list}}${'{{/o}}'.repeat(9)}`],
    ['the parts of a name', `{{#list}}{{o.${'o.'.repeat(100)}}}{{/list}}`],
    ['the elements of a list', '{{#list}}{{empty}}{{/list}}'],
  ])('after lookups of %s', (_, template) => {
    const o: Record<string, JsonValue> = { x: 1 }
    o.o = o
    const data = { list: list(1_500), empty: list(60), o }
    expect(() => render(template, data, 1_000_000)).toThrow(OutputTooLarge)
  })

  test('but not for an ordinary mail with a long list', () => {
    const names = '{{#list}}{{x}} {{meta.site.name}} {{y}} {{device}}\n{{/list}}'
    const rows = Array.from({ length: 1_000 }, () => ({ x: 1, y: 2 }))
    expect(render(names, { list: rows, device: 'A', meta: { site: { name: 'B' } } }, 100_000)).toContain('1 B 2 A')
  })
})
