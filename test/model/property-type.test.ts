import fc from 'fast-check'
import { expect, describe as group, test } from 'vitest'
import { timestampMsMax } from '#model/identifier'
import {
  describe,
  float32Max,
  type PropertyType,
  propertyTypeOf,
  propertyTypes,
  valueBytesMax,
} from '#model/property-type'
import { anyText } from '#test/kit/any-text'

const uuid = '0f8fad5b-d9cb-469f-a165-70867728950e'
const refused = undefined
const never = [
  undefined,
  null,
  {},
  () => 1,
  Symbol('a'),
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  new Date(0),
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
    expect(describe(type)).toMatch(/^\S.*\S$/)
  }
  expect(describe(typeNamed('UINT8'))).toBe('an integer from 0 to 255')
})

test('names are found in any case', () => {
  for (const name of ['uint8-array', 'UINT8-ARRAY', 'Uint8-Array'])
    expect(propertyTypeOf(name)?.name).toBe('uint8-array')
  for (const name of ['', 'uint', 'binary-array', 'uint8 ', 'constructor', '__proto__'])
    expect(propertyTypeOf(name)).toBeUndefined()
})

/** [type, value, result] */
const table: [string, unknown, unknown][] = [
  ...limits('uint8', 0, 255),
  ...limits('uint16', 0, 65_535),
  ...limits('uint32', 0, 4_294_967_295),
  ...limits('int8', -128, 127),
  ...limits('int16', -32_768, 32_767),
  ...limits('int32', -2_147_483_648, 2_147_483_647),
  ...limits('datetime', -timestampMsMax, timestampMsMax),
  ['uint8', -0, 0],
  ['uint8', 1.5, refused],
  ['uint8', '1', refused],
  ['uint8', true, refused],
  ['uint8', 7n, 7],
  ['uint8', 256n, refused],
  ['datetime', 1_700_000_000_000n, 1_700_000_000_000],
  ['uint64', 0, 0],
  ['uint64', -0, 0],
  ['uint64', -1, refused],
  ['uint64', '-1', refused],
  ['uint64', -1n, refused],
  ['uint64', 1.5, refused],
  ['uint64', 9_007_199_254_740_991, 9_007_199_254_740_991],
  ['uint64', 9_007_199_254_740_992, refused],
  ['uint64', '9007199254740991', 9_007_199_254_740_991],
  ['uint64', '9007199254740992', '9007199254740992'],
  ['uint64', '18446744073709551615', '18446744073709551615'],
  ['uint64', '18446744073709551616', refused],
  ['uint64', 18_446_744_073_709_551_615n, '18446744073709551615'],
  ['uint64', 18_446_744_073_709_551_616n, refused],
  ['uint64', '007', 7],
  ['uint64', '-0', 0],
  ['uint64', '', refused],
  ['uint64', ' 1', refused],
  ['uint64', '+1', refused],
  ['uint64', '1.0', refused],
  ['uint64', '1e3', refused],
  ['uint64', '0x10', refused],
  ['uint64', '1n', refused],
  ['uint64', '1'.repeat(21), refused],
  ['uint64', true, refused],
  ['int64', -9_007_199_254_740_991, -9_007_199_254_740_991],
  ['int64', -9_007_199_254_740_992, refused],
  ['int64', '-9007199254740991', -9_007_199_254_740_991],
  ['int64', '-9007199254740992', '-9007199254740992'],
  ['int64', '-9223372036854775808', '-9223372036854775808'],
  ['int64', '-9223372036854775809', refused],
  ['int64', '9223372036854775807', '9223372036854775807'],
  ['int64', '9223372036854775808', refused],
  ['int64', -9_223_372_036_854_775_808n, '-9223372036854775808'],
  ['int64', 5n, 5],
  ['bool', true, true],
  ['bool', false, false],
  ...[0, 1, 'true', ''].map((value) => ['bool', value, refused] as [string, unknown, unknown]),
  ['uuid', uuid, uuid],
  ['uuid', uuid.toUpperCase(), uuid],
  ['uuid', uuid.slice(1), refused],
  ['uuid', `{${uuid}}`, refused],
  ['uuid', uuid.replaceAll('-', ''), refused],
  ['uuid', uuid.replace('0', 'g'), refused],
  ['uuid', 1, refused],
  ['float', 0.1, 0.1],
  ['float', -0, 0],
  ['float', 1e-50, 1e-50],
  ['float', float32Max, float32Max],
  ['float', -float32Max, -float32Max],
  ['float', 3.5e38, refused],
  ['float', '1', refused],
  ['float', 1n, refused],
  ['float64', Number.MAX_VALUE, Number.MAX_VALUE],
  ['float64', Number.MIN_VALUE, Number.MIN_VALUE],
  ['float64', -0, 0],
  ['float64', '1', refused],
  ['string', '', ''],
  ['string', 'grüße 🌍\u0000', 'grüße 🌍\u0000'],
  ['string', '\ud800', refused],
  ['string', 'a\udc00', refused],
  ['string', 'a'.repeat(valueBytesMax), 'a'.repeat(valueBytesMax)],
  ['string', 'a'.repeat(valueBytesMax + 1), refused],
  ['string', 'é'.repeat(valueBytesMax / 2), 'é'.repeat(valueBytesMax / 2)],
  ['string', `${'é'.repeat(valueBytesMax / 2)}a`, refused],
  ['string', '🌍'.repeat(valueBytesMax / 4), '🌍'.repeat(valueBytesMax / 4)],
  ['string', `${'🌍'.repeat(valueBytesMax / 4)}a`, refused],
  ['string', '€'.repeat(21_846), refused],
  ['string', 1, refused],
  ['binary', '', ''],
  ['binary', 'AA==', 'AA=='],
  ['binary', 'AAA=', 'AAA='],
  ['binary', '+/+/', '+/+/'],
  ['binary', 'AA', refused],
  ['binary', 'AAA', refused],
  ['binary', 'AB==', refused],
  ['binary', 'AAB=', refused],
  ['binary', '-_-_', refused],
  ['binary', 'AA==AAAA', refused],
  ['binary', '====', refused],
  ['binary', 'A===', refused],
  ['binary', 'AAAA\n', refused],
  ['binary', ' AAA', refused],
  ['binary', new Uint8Array([0, 255]), 'AP8='],
  ['binary', new Uint8Array(valueBytesMax), `${'A'.repeat(87_382)}==`],
  ['binary', `${'A'.repeat(87_382)}==`, `${'A'.repeat(87_382)}==`],
  ['binary', new Uint8Array(valueBytesMax + 1), refused],
  ['binary', `${'A'.repeat(87_383)}=`, refused],
  ['binary', 'A'.repeat(87_388), refused],
  ['binary', [0, 255], refused],
  ['binary', 0, refused],
  ['uint8-array', [], []],
  ['uint8-array', [0, -0, 255], [0, 0, 255]],
  ['uint8-array', [0, 256], refused],
  ['uint8-array', [0, null], refused],
  ['uint8-array', [[0]], refused],
  ['uint8-array', new Array(2), refused],
  ['uint8-array', 1, refused],
  ['uint8-array', 'AA==', refused],
  ['uint8-array', { 0: 1, length: 1 }, refused],
  ['uint8-array', new Array(32_767).fill(1), new Array(32_767).fill(1)],
  ['uint8-array', new Array(32_768).fill(1), refused],
  ['int64-array', [1, '9223372036854775807', 2n], [1, '9223372036854775807', 2]],
  ['uuid-array', [uuid.toUpperCase()], [uuid]],
  ['uuid-array', new Array(1681).fill(uuid), refused],
  ['bool-array', [true, 0], refused],
  ['string-array', ['a'.repeat(65_532)], ['a'.repeat(65_532)]],
  ['string-array', ['a'.repeat(65_533)], refused],
  ['string-array', ['"'.repeat(40_000)], refused],
  ['string-array', ['\u0001'.repeat(10_922)], ['\u0001'.repeat(10_922)]],
  ['string-array', ['\u0001'.repeat(10_923)], refused],
  ['float64-array', new Array(2_621).fill(-Number.MAX_VALUE), new Array(2_621).fill(-Number.MAX_VALUE)],
  ['float64-array', new Array(2_622).fill(-Number.MAX_VALUE), refused],
]

/** Both ends of each integer type and the values next to them. */
function limits(name: string, min: number, max: number): [string, unknown, unknown][] {
  return [
    [name, min, min],
    [name, max, max],
    [name, min - 1, refused],
    [name, max + 1, refused],
  ]
}

test.each(table.map(([name, value, normal]) => [name, shown(value), value, normal] as const))(
  '%s accepts %s',
  (name, _shown, value, normal) => {
    const taken = typeNamed(name).accept(value)
    expect(taken).toEqual(normal)
    expect(Object.is(taken, -0)).toBe(false)
  },
)

function shown(value: unknown): string {
  return String(value).slice(0, 40)
}

test.each([...propertyTypes.keys()])('%s refuses other kinds of values', (name) => {
  for (const value of never) expect(typeNamed(name).accept(value)).toBeUndefined()
})

test('binary is copied', () => {
  const bytes = new Uint8Array([0, 1, 2, 3])
  expect(typeNamed('binary').accept(bytes.subarray(1, 3))).toBe('AQI=')
})

group('for every type and any value', () => {
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
    fc.assert(
      fc.property(value, (given) => {
        const taken = type.accept(given)
        if (taken === undefined) return
        expect(type.accept(taken)).toEqual(taken)
        const json = JSON.stringify(taken)
        expect(JSON.parse(json)).toEqual(taken)
        expect(Array.isArray(taken)).toBe(type.isArray)
        expect(Array.isArray(taken) ? Buffer.byteLength(json) : 0).toBeLessThanOrEqual(valueBytesMax)
      }),
    )
  })
})
