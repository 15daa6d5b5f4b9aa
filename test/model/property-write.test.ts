import { describe, expect, test } from 'vitest'
import { modifierFlags } from '#model/modifier'
import { propertyTypeOf } from '#model/property-type'
import { checkWrittenValue, PropertyWrites, parseWriteKey, placeOf } from '#model/property-write'
import { type PropertySchema, ServiceSchema } from '#model/service-schema'
import type { ShapeProperty } from '#model/shape'
import { shapeOf } from '#test/actors/acting-device'

const uuid = '0f8fad5b-d9cb-469f-a165-70867728950e'

describe('a body', () => {
  test.each<[string, unknown]>([
    ['is not an object', [1]],
    ['is a text', 'x'],
    ['is null', undefined],
    ['is empty', {}],
    ['has too many names', Object.fromEntries(Array.from({ length: 1_025 }, (_, index) => [`p${index}`, 1]))],
  ])('that %s is refused as a whole', (_, body) => {
    const { error } = PropertyWrites.safeParse(body)
    expect(error?.issues.map(({ path }) => path)).toEqual([[]])
  })

  test('keeps its keys and values unchanged', () => {
    const body = { '0x2000': null, constructor: 1, toString: { a: [] }, '8192.FLOAT': 'x' }
    expect(PropertyWrites.parse(body)).toEqual(body)
    const many = Object.fromEntries(Array.from({ length: 1_024 }, (_, index) => [`p${index}`, 1]))
    expect(Object.keys(PropertyWrites.parse(many))).toHaveLength(1_024)
  })
})

const names = ['0x2000.FLOTE', '0x2000.', '0x123456789', '0x', '-1', '1.5', ' 1', '', '__proto__', 'temperature']
test.each([
  ['8192', { propId: 8192 }],
  ['0', { propId: 0 }],
  ['008192', { propId: 8192 }],
  ['4294967296', { propId: 4_294_967_296 }],
  ['0x2000', { propId: 8192 }],
  ['0X2aFf', { propId: 0x2aff }],
  ['0xffffffff', { propId: 0xffff_ffff }],
  ['0x2000.FLOAT', { propId: 8192, type: 'float' }],
  ['8192.uint8-Array', { propId: 8192, type: 'uint8-array' }],
  ...names.map((name): [string, object] => [name, { name }]),
])('a key %j means %j', (text, key) => {
  expect(parseWriteKey(text)).toEqual(key)
})

describe('the property of a key', () => {
  const shape = shapeOf('svc', { 1: 'uint8', 2: 'float', 8192: 'bool' })
  const properties = { '0x1': { name: 'speed' }, '0x2': { name: 'a.b' }, '0x3': { name: 'undeclared' } }
  const schema = ServiceSchema.parse({ name: 'S', properties: { ...properties, '0x2000': { name: '2' } } })

  test.each<[string, number | undefined]>([
    ['1', 0],
    ['0x0001', 0],
    ['1.UINT8', 0],
    ['1.uint8', 0],
    ['1.FLOAT', undefined],
    ['speed', 0],
    ['Speed', undefined],
    ['a.b', 1],
    // A property id, for any names of the schema.
    ['2', 1],
    ['8192', 2],
    ['3', undefined],
    ['undeclared', undefined],
    ['constructor', undefined],
    ['4294967297', undefined],
  ])('%j is found', (text, place) => {
    expect(placeOf(parseWriteKey(text), shape, schema)).toBe(place)
  })

  test('is missing for a name without a schema', () => {
    expect(placeOf(parseWriteKey('speed'), shape, undefined)).toBeUndefined()
    expect(placeOf(parseWriteKey('1'), shape, undefined)).toBe(0)
  })
})

/** The result for a property of this type with this schema. */
function written(typeName: string, value: unknown, about: Partial<PropertySchema> | undefined = {}, modifier = 0) {
  const type = propertyTypeOf(typeName)
  if (!type) throw new Error(`no type ${typeName}`)
  const property: ShapeProperty = { propId: 1, type, modifier }
  const schema = about && ServiceSchema.parse({ name: 'S', properties: { '0x1': { name: 'p', ...about } } })
  return checkWrittenValue(property, schema, value)
}

describe('a value', () => {
  test.each([
    ['uint64', '7', 7],
    ['uuid', uuid.toUpperCase(), uuid],
    ['float', -0.5, -0.5],
    ['string-array', ['a', '😀'], ['a', '😀']],
  ])('for %s accepts %j as %j', (type, value, accepted) => {
    expect(written(type, value)).toEqual({ value: accepted })
    expect(written(type, value, undefined)).toEqual({ value: accepted })
  })

  test.each<[type: string, value: unknown, fault: RegExp]>([
    ['uint8', 256, /^must be an integer from 0 to 255$/],
    ['uint8', null, /integer/],
    ['bool', 'true', /^must be true or false$/],
    ['uuid', 'x', /UUID/],
    ['float', 3.5e38, /single-precision/],
    ['float64', '1', /finite/],
    ['datetime', 8_640_000_000_000_001, /time/],
    ['string', { e: 'x' }, /text/],
    ['binary', 'AB==', /base64/],
    ['uint8-array', [256], /array of integers from 0 to 255/],
  ])('for %s refuses %j', (type, value, fault) => {
    expect(written(type, value)).toEqual({ fault: expect.stringMatching(fault) })
  })
})

describe('a name of the enumeration', () => {
  const names = {
    ...{ '0': { name: 'OFF' }, '1': { name: 'ON' } },
    ...{ '9007199254740993': { name: 'HUGE' }, '1.5': { name: 'HALF' } },
  }

  test.each<[string, unknown, unknown, string?]>([
    ['uint8', 'ON', 1],
    ['int32', 'OFF', 0],
    ['float', 'HALF', 1.5],
    ['uint64', 'HUGE', '9007199254740993'],
    ['bool', 'ON', true],
    ['bool', 'OFF', false],
    // The schema has another type: the type of the device counts.
    ['bool', 'ON', true, 'uint8'],
    ['bool', 'OFF', false, 'uint8'],
    ['uint8', 'ON', 1, 'bool'],
    ['uint8', 'OFF', 0, 'bool'],
    // A value that the type accepts needs no name.
    ['string', 'ON', 'ON'],
  ])('is accepted by %s for %j as %j', (type, name, value, schemaType) => {
    const about = { enum: names, ...(schemaType !== undefined && { type: schemaType }) }
    expect(written(type, name, about)).toEqual({ value })
  })

  test.each<[string, unknown]>([
    ...['on', '1', 'HUGE', 'HALF', 'toString'].map((name): [string, unknown] => ['uint8', name]),
    ['uint8-array', ['ON']],
    ['uint8-array', 'ON'],
    ['binary', 'ON'],
  ])('is refused by %s for %j, with a text that mentions names', (type, name) => {
    expect(written(type, name, { enum: names })).toEqual({ fault: expect.stringMatching(/, or a name of its enum/) })
  })

  test('needs a schema with the property', () => {
    expect(written('uint8', 'ON', undefined)).toEqual({ fault: expect.stringMatching(/255$/) })
  })
})

const range = { rangeMin: 10, rangeMax: 20 }

test.each<[string, unknown, Partial<PropertySchema>, string | undefined]>([
  ['uint8', 10, range, undefined],
  ['uint8', 9, range, 'must be at least 10'],
  ['uint8', 19, range, undefined],
  ['uint8', 20, range, 'must be below 20'],
  ['float', 19.999, range, undefined],
  ['float', 9.999, range, 'must be at least 10'],
  ['float', 0, { rangeMax: 0 }, 'must be below 0'],
  ['float', -1e30, { rangeMax: 0 }, undefined],
  ['int8', -1, { rangeMin: 0 }, 'must be at least 0'],
  ['uint8-array', [10, 19], range, undefined],
  ['uint8-array', [10, 20, 11], range, 'must be below 20'],
  ['uint8-array', [], range, undefined],
  ['datetime', 5, range, 'must be at least 10'],
  ['int64', '-9223372036854775808', { rangeMin: -10 }, 'must be at least -10'],
  // As doubles both are 2^63.
  ['uint64', '9223372036854775807', { rangeMax: 2 ** 63 }, undefined],
  ['uint64', '9223372036854775808', { rangeMax: 2 ** 63 }, `must be below ${2 ** 63}`],
  ['uint64-array', [11, '9223372036854775808'], { rangeMax: 2 ** 63 }, `must be below ${2 ** 63}`],
  // Numbers only.
  ['string', '5', range, undefined],
  ['bool', true, range, undefined],
  ['binary', 'AA==', range, undefined],
  // By name, and by the value of the name.
  ['uint8', 'LOW', { ...range, enum: { '1': { name: 'LOW' } } }, 'must be at least 10'],
])('a value for %s that is %j, within %j: %s', (type, value, about, fault) => {
  const found = written(type, value, about)
  expect('fault' in found ? found.fault : undefined).toBe(fault)
})

describe('a read-only property', () => {
  test.each<[string, Partial<PropertySchema>, number]>([
    ['by the device', {}, modifierFlags.isReadOnly],
    ['by the schema', { readonly: true }, 0],
    ['by both, and actionable', { readonly: true }, modifierFlags.isReadOnly | modifierFlags.isActionable],
  ])('refuses a value: %s', (_, about, modifier) => {
    for (const value of [1, 'x', null])
      expect(written('uint8', value, about, modifier)).toEqual({ fault: 'is read-only' })
  })

  test('is read-only by this flag or this schema only', () => {
    const others = modifierFlags.isActionable | modifierFlags.isVolatile | modifierFlags.isError | modifierFlags.isArray
    expect(written('uint8', 1, { readonly: false }, others)).toEqual({ value: 1 })
  })
})
