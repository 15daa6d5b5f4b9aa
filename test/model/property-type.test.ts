import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { timestampMsMax } from '#model/identifier'
import { float32Max, type PropertyType, propertyTypeOf, propertyTypes, valueBytesMax } from '#model/property-type'
import { anyText } from '#test/kit/any-text'
import { forAll } from '#test/kit/for-all'

const uuid = '0f8fad5b-d9cb-469f-a165-70867728950e'
/** Values that no type accepts. */
const never = [
  ...[undefined, null, {}, () => 1, Symbol('a'), new Date(0)],
  ...[Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
]

function typeNamed(name: string): PropertyType {
  const type = propertyTypeOf(name)
  if (!type) throw new Error(`no type ${name}`)
  return type
}

test('the table has every type, and every array except that of binary', () => {
  const names = ['uint8', 'uint16', 'uint32', 'uint64', 'int8', 'int16', 'int32', 'int64']
  names.push('bool', 'uuid', 'float', 'float64', 'datetime', 'string')
  expect([...propertyTypes.keys()].sort()).toEqual([...names, ...names.map((name) => `${name}-array`), 'binary'].sort())
  for (const [name, type] of propertyTypes) {
    expect(type.name).toBe(name)
    expect(type.wireName).toBe(name.toUpperCase())
    expect(type.isArray).toBe(name.endsWith('-array'))
    expect(type.text).toMatch(/^\S.*\S$/)
  }
  expect(typeNamed('UINT8').text).toBe('an integer from 0 to 255')
})

test('names are found in any case', () => {
  for (const name of ['uint8-array', 'UINT8-ARRAY', 'Uint8-Array'])
    expect(propertyTypeOf(name)?.name).toBe('uint8-array')
  for (const name of ['', 'uint', 'binary-array', 'uint8 ', 'constructor', '__proto__'])
    expect(propertyTypeOf(name)).toBeUndefined()
})

test.each([
  ['uint8', 0, 255],
  ['uint16', 0, 65_535],
  ['uint32', 0, 4_294_967_295],
  ['int8', -128, 127],
  ['int16', -32_768, 32_767],
  ['int32', -2_147_483_648, 2_147_483_647],
  ['datetime', -timestampMsMax, timestampMsMax],
])('%s accepts the integers from %i to %i', (name, min, max) => {
  const type = typeNamed(name)
  expect([min, max, min - 1, max + 1].map((value) => type.accept(value))).toEqual([min, max, undefined, undefined])
})

const unchanged: Record<string, unknown[]> = {
  uint64: [0, 9_007_199_254_740_991, '9007199254740992', '18446744073709551615'],
  int64: [-9_007_199_254_740_991, '-9007199254740992', '-9223372036854775808', '9223372036854775807'],
  bool: [true, false],
  uuid: [uuid],
  float: [0.1, 1e-50, float32Max, -float32Max],
  float64: [Number.MAX_VALUE, Number.MIN_VALUE],
  string: [
    ...['', 'grüße 🌍\u0000'],
    ...['a'.repeat(valueBytesMax), 'é'.repeat(valueBytesMax / 2), '🌍'.repeat(valueBytesMax / 4)],
  ],
  binary: ['', 'AA==', 'AAA=', '+/+/', `${'A'.repeat(87_382)}==`],
  'uint8-array': [[], new Array(32_767).fill(1)],
  'string-array': [['a'.repeat(65_532)], ['\u0001'.repeat(10_922)]],
  'float64-array': [new Array(2_621).fill(-Number.MAX_VALUE)],
}

const changed: [type: string, value: unknown, result: unknown][] = [
  ['uint8', -0, 0],
  ['uint8', 7n, 7],
  ['datetime', 1_700_000_000_000n, 1_700_000_000_000],
  ['uint64', -0, 0],
  ['uint64', '9007199254740991', 9_007_199_254_740_991],
  ['uint64', 18_446_744_073_709_551_615n, '18446744073709551615'],
  ['uint64', '007', 7],
  ['uint64', '-0', 0],
  ['int64', '-9007199254740991', -9_007_199_254_740_991],
  ['int64', -9_223_372_036_854_775_808n, '-9223372036854775808'],
  ['int64', 5n, 5],
  ['uuid', uuid.toUpperCase(), uuid],
  ['float', -0, 0],
  ['float64', -0, 0],
  ['binary', new Uint8Array([0, 255]), 'AP8='],
  ['binary', new Uint8Array(valueBytesMax), `${'A'.repeat(87_382)}==`],
  ['uint8-array', [0, -0, 255], [0, 0, 255]],
  ['int64-array', [1, '9223372036854775807', 2n], [1, '9223372036854775807', 2]],
  ['uuid-array', [uuid.toUpperCase()], [uuid]],
]

const refused: Record<string, unknown[]> = {
  uint8: [1.5, '1', true, 256n],
  uint64: [
    ...[-1, '-1', -1n, 1.5, 9_007_199_254_740_992, '18446744073709551616', 18_446_744_073_709_551_616n, true],
    ...['', ' 1', '+1', '1.0', '1e3', '0x10', '1n', '1'.repeat(21)],
  ],
  int64: [-9_007_199_254_740_992, '-9223372036854775809', '9223372036854775808'],
  bool: [0, 1, 'true', ''],
  uuid: [uuid.slice(1), `{${uuid}}`, uuid.replaceAll('-', ''), uuid.replace('0', 'g'), 1],
  float: [3.5e38, '1', 1n],
  float64: ['1'],
  string: [
    ...['\ud800', 'a\udc00', 1, 'a'.repeat(valueBytesMax + 1), '€'.repeat(21_846)],
    ...[`${'é'.repeat(valueBytesMax / 2)}a`, `${'🌍'.repeat(valueBytesMax / 4)}a`],
  ],
  binary: [
    ...['AA', 'AAA', 'AB==', 'AAB=', '-_-_', 'AA==AAAA', '====', 'A===', 'AAAA\n', ' AAA', [0, 255], 0],
    ...[new Uint8Array(valueBytesMax + 1), `${'A'.repeat(87_383)}=`, 'A'.repeat(87_388)],
  ],
  'uint8-array': [
    ...[[0, 256], [0, null], [[0]], new Array(2), 1, 'AA==', { 0: 1, length: 1 }, new Array(32_768).fill(1)],
  ],
  'uuid-array': [new Array(1681).fill(uuid)],
  'bool-array': [[true, 0]],
  'string-array': [['a'.repeat(65_533)], ['"'.repeat(40_000)], ['\u0001'.repeat(10_923)]],
  'float64-array': [new Array(2_622).fill(-Number.MAX_VALUE)],
}

function shown(value: unknown): string {
  return String(value).slice(0, 40)
}

test.each([...propertyTypes.keys()])('%s accepts its own values and refuses others', (name) => {
  const type = typeNamed(name)
  for (const value of unchanged[name] ?? []) expect(type.accept(value), shown(value)).toEqual(value)
  for (const value of refused[name] ?? []) expect(type.accept(value), shown(value)).toBeUndefined()
  for (const value of never) expect(type.accept(value)).toBeUndefined()
})

test.each(changed)('%s changes %s to its normal form', (name, value, normal) => {
  const accepted = typeNamed(name).accept(value)
  expect(accepted).toEqual(normal)
  expect(Object.is(accepted, -0)).toBe(false)
})

test('binary is copied', () => {
  const bytes = new Uint8Array([0, 1, 2, 3])
  expect(typeNamed('binary').accept(bytes.subarray(1, 3))).toBe('AQI=')
})

describe('for every type and any value', () => {
  const scalar = fc.oneof(
    fc.integer(),
    fc.double(),
    fc.float(),
    fc.boolean(),
    anyText(),
    fc.uuid(),
    fc.base64String(),
    fc.bigInt({ min: -(2n ** 65n), max: 2n ** 65n }),
    fc.bigInt({ min: -(2n ** 65n), max: 2n ** 65n }).map(String),
    fc.uint8Array(),
    fc.constantFrom(0, -0, 255, 256, null, undefined),
  )
  const value = fc.oneof(scalar, fc.array(scalar), fc.array(fc.integer({ min: -2, max: 300 })), fc.anything())

  test.each([...propertyTypes.keys()])('%s: a second check changes nothing, and JSON keeps everything', (name) => {
    const type = typeNamed(name)
    forAll([value], (given) => {
      const accepted = type.accept(given)
      if (accepted === undefined) return
      expect(type.accept(accepted)).toEqual(accepted)
      const json = JSON.stringify(accepted)
      expect(JSON.parse(json)).toEqual(accepted)
      expect(Array.isArray(accepted)).toBe(type.isArray)
      expect(Array.isArray(accepted) ? Buffer.byteLength(json) : 0).toBeLessThanOrEqual(valueBytesMax)
    })
  })
})
