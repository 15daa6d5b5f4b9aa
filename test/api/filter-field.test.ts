import { expect, test } from 'vitest'
import { DeviceListQuery } from '#api/devices'
import { validate } from '#http/validation'
import { filterBytesMax } from '#model/condition'
import { Problem } from '#model/problem'

/** The paths of the errors in a filter. */
function errorPathsOf(filter: unknown): readonly string[] {
  try {
    validate(DeviceListQuery, { filter })
  } catch (problem) {
    if (problem instanceof Problem) return (problem.details ?? []).map(({ path }) => path)
    throw problem
  }
  return []
}

const deep = (levels: number): unknown => (levels === 0 ? true : { '!': deep(levels - 1) })

test.each<[title: string, filter: unknown, paths: readonly string[]]>([
  ['an empty text', '', ['filter']],
  ['a text that is not JSON', '{"!":', ['filter']],
  ['two filters', ['true', 'false'], ['filter']],
  ['an object without a key', '{}', ['filter']],
  ['an object with two keys', '{"!":1,"!!":1}', ['filter']],
  ['an unknown operator', '{"map":[1,2]}', ['filter']],
  ['a key of Object.prototype', '{"__proto__":[1]}', ['filter']],
  ['a nested unknown operator', '{"and":[{"or":[true,{"cat":["a"]}]}]}', ['filter.and.0.or.1']],
  ['several unknown operators', '{"and":[{"nand":[]},true,{"xor":[]}]}', ['filter.and.0', 'filter.and.2']],
  ['too few arguments', '{"and":[{"==":[1]}]}', ['filter.and.0.==']],
  ['a name that is not a string', '{"var":7}', ['filter.var']],
  ['a computed name', '{"var":[{"var":"status"}]}', ['filter.var.0']],
  ['an infinite number', '{"<":[1e999,{"var":"status"}]}', ['filter.<.0']],
  ['a lone surrogate', '{"==":["\\ud800",1]}', ['filter.==.0']],
  ['a filter with too many levels', JSON.stringify(deep(17)), [`filter${'.!'.repeat(16)}`]],
  ['a filter with too many nodes', JSON.stringify({ and: Array.from({ length: 256 }, () => true) }), ['filter']],
  ['a filter that is too long', JSON.stringify({ in: ['x', 'y'.repeat(filterBytesMax)] }), ['filter']],
])('%s is refused with the path of the error', (_, filter, paths) => {
  expect(errorPathsOf(filter)).toEqual(paths)
})

test('valid filters are accepted', () => {
  for (const filter of ['true', 'null', '0', '" "', JSON.stringify(deep(16)), ' {"!" : [{"var":"meta"}]} ']) {
    expect(errorPathsOf(filter)).toEqual([])
  }
  expect(validate(DeviceListQuery, { filter: '{"var":"status"}' })).toEqual({ filter: { var: 'status' } })
  expect(validate(DeviceListQuery, {})).toEqual({})
})
