import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { JsonValue } from '#model/json-value'
import { changeMeta, MetaPatch, mergePatch, metaBytesMax, metaDepthMax } from '#model/meta'
import { forAll } from '#test/kit/for-all'

/** All of RFC 7396 Appendix A: [target, patch, result]. */
const appendix: [string, string, string][] = [
  ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
  ['{"a":"b"}', '{"a":null}', '{}'],
  ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
  ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
  ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
  ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
  ['["a","b"]', '["c","d"]', '["c","d"]'],
  ['{"a":"b"}', '["c"]', '["c"]'],
  ['{"a":"foo"}', 'null', 'null'],
  ['{"a":"foo"}', '"bar"', '"bar"'],
  ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
  ['[1,2]', '{"a":"b","c":null}', '{"a":"b"}'],
  ['{}', '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
]

describe('merge patch', () => {
  test.each(appendix)('%s with %s is %s', (target, patch, result) => {
    const before = JSON.parse(target)
    expect(JSON.stringify(mergePatch(before, JSON.parse(patch)))).toBe(result)
    expect(JSON.stringify(before)).toBe(target)
  })

  const json = fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<JsonValue>
  const object = fc.dictionary(fc.string(), json) as fc.Arbitrary<JsonValue>

  test('a patch has no effect the second time', () => {
    forAll([json, json], (target, patch) => {
      const once = mergePatch(target, patch)
      expect(mergePatch(once, patch)).toEqual(once)
    })
  })

  test('an empty patch changes no object, and a patch without nulls, applied to {}, gives itself', () => {
    forAll([object], (value) => {
      expect(mergePatch(value, {})).toEqual(value)
      const withoutNulls = mergePatch({}, value)
      expect(mergePatch({}, withoutNulls)).toEqual(withoutNulls)
    })
  })

  test('a patch with any key does not reach a prototype', () => {
    const merged = mergePatch({}, JSON.parse('{"__proto__":{"isAdmin":true}}')) as object
    expect(Object.getPrototypeOf(merged)).toBe(Object.prototype)
    expect(Object.keys(merged)).toEqual(['__proto__'])
  })
})

function nested(depth: number): unknown {
  return depth === 1 ? {} : { a: nested(depth - 1) }
}

/** An object of exactly this many bytes as JSON. */
function sized(bytes: number): { a: string } {
  return { a: 'x'.repeat(bytes - '{"a":""}'.length) }
}

describe('a patch in a request', () => {
  test.each<[string, unknown]>([
    ['empty', {}],
    ['any JSON', { a: 1, b: 'é🌍', c: null, d: [true, { e: [] }], '': 0, prototype: 1 }],
    ['deepest', nested(metaDepthMax)],
    ['largest', sized(metaBytesMax)],
  ])('is accepted unchanged: %s', (_name, patch) => {
    expect(MetaPatch.parse(patch)).toEqual(patch)
  })

  const deepArray = JSON.parse(`{"a":${'['.repeat(5000)}${']'.repeat(5000)}}`)
  test.each<[string, unknown, (string | number)[]]>([
    ...[null, undefined, 1, 'a', true, []].map((value): [string, unknown, []] => [
      `${JSON.stringify(value)} instead of an object`,
      value,
      [],
    ]),
    ['too deep', nested(metaDepthMax + 1), Array(metaDepthMax).fill('a')],
    ['far too deep', deepArray, ['a', ...Array(metaDepthMax - 1).fill(0)]],
    ['one byte too large', sized(metaBytesMax + 1), []],
    ['too large in UTF-8', { a: 'é'.repeat(metaBytesMax / 2) }, []],
    ['__proto__', JSON.parse('{"__proto__":1}'), []],
    ['__proto__ inside', JSON.parse('{"a":[{"__proto__":{"b":1}}]}'), ['a', 0]],
    ['constructor', { a: { constructor: 1 } }, ['a']],
    ['half a surrogate pair', { a: ['\ud800'] }, ['a', 0]],
    ['half a surrogate pair in a key', { a: { '\udc00': 1 } }, ['a']],
    ['an invalid number', { a: Number.NaN }, ['a']],
    ['a bigint', { a: 1n }, ['a']],
    ['a function', { a: () => 1 }, ['a']],
  ])('is refused: %s', (_name, patch, path) => {
    const issues = MetaPatch.safeParse(patch).error?.issues
    expect(issues?.length).toBe(1)
    expect(issues?.[0]?.path).toEqual(path)
  })

  test('has a limit for the result', () => {
    const half = { a: 'x'.repeat(40_000) }
    expect(changeMeta(half, { b: 1 })).toEqual({ meta: { ...half, b: 1 } })
    expect(changeMeta(half, { b: half.a })).toEqual({ refusal: expect.stringContaining('65536 bytes') })
    expect(changeMeta(half, { a: null, b: half.a })).toEqual({ meta: { b: half.a } })
  })
})
