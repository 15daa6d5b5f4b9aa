import { expect, test } from 'vitest'
import { DeviceListQuery } from '#api/devices'
import { validate } from '#http/validation'
import { filterBytesMax } from '#model/condition'
import { Problem } from '#model/problem'

/** Where a query is said to be wrong. */
function faultsOf(filter: unknown): readonly string[] {
  try {
    validate(DeviceListQuery, { filter })
  } catch (problem) {
    if (problem instanceof Problem) return (problem.details ?? []).map(({ path }) => path)
    throw problem
  }
  return []
}

const deep = (levels: number): unknown => (levels === 0 ? true : { '!': deep(levels - 1) })

test.each<[what: string, filter: unknown, paths: readonly string[]]>([
  ['nothing', '', ['filter']],
  ['no JSON', '{"!":', ['filter']],
  ['two of them', ['true', 'false'], ['filter']],
  ['no key', '{}', ['filter']],
  ['two keys', '{"!":1,"!!":1}', ['filter']],
  ['a key that is no operator', '{"map":[1,2]}', ['filter']],
  ['a key that every object has', '{"__proto__":[1]}', ['filter']],
  ['an operator inside that is none', '{"and":[{"or":[true,{"cat":["a"]}]}]}', ['filter.and.0.or.1']],
  ['several', '{"and":[{"nand":[]},true,{"xor":[]}]}', ['filter.and.0', 'filter.and.2']],
  ['too few arguments', '{"and":[{"==":[1]}]}', ['filter.and.0.==']],
  ['a name that is none', '{"var":7}', ['filter.var']],
  ['a name that is worked out', '{"var":[{"var":"status"}]}', ['filter.var.0']],
  ['a number beyond numbers', '{"<":[1e999,{"var":"status"}]}', ['filter.<.0']],
  ['half of a character', '{"==":["\\ud800",1]}', ['filter.==.0']],
  ['too deep', JSON.stringify(deep(17)), [`filter${'.!'.repeat(16)}`]],
  ['too many nodes', JSON.stringify({ and: Array.from({ length: 256 }, () => true) }), ['filter']],
  ['too long', JSON.stringify({ in: ['x', 'y'.repeat(filterBytesMax)] }), ['filter']],
])('%s is refused, with the place', (_, filter, paths) => {
  expect(faultsOf(filter)).toEqual(paths)
})

test('what is none of these is a condition', () => {
  for (const filter of ['true', 'null', '0', '" "', JSON.stringify(deep(16)), ' {"!" : [{"var":"meta"}]} ']) {
    expect(faultsOf(filter)).toEqual([])
  }
  expect(validate(DeviceListQuery, { filter: '{"var":"status"}' })).toEqual({ filter: { var: 'status' } })
  expect(validate(DeviceListQuery, {})).toEqual({})
})
