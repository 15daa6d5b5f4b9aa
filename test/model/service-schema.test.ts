import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { uint32Max } from '#model/identifier'
import {
  enumEntriesMax,
  enumNameOf,
  enumValueOf,
  nameOfProperty,
  propIdOfName,
  ServiceSchema,
  schemaPropertiesMax,
} from '#model/service-schema'
import { forAll } from '#test/kit/for-all'

const fan = {
  name: 'Fan',
  description: 'Speed',
  type: 'uint8',
  enum: { '0': { name: 'Off' }, '1': { name: 'On', description: 'Full' } },
}
const heat = {
  ...{ name: 'Heat', type: 'float', unit: '°C', readonly: true, rangeMin: -40, rangeMax: 85.5, actionable: false },
  ...{ group: 'Air', hint: 'gauge', history: { raw: '30d', hourly: '0', daily: 'forever' } },
}
const climate = { name: 'Climate', description: 'Air', properties: { '0x2000': fan, '0x2001': heat } }

function withProperty(property: unknown): unknown {
  return { name: 'S', properties: { '0x2000': property } }
}

function withEnum(entries: Record<string, unknown>): unknown {
  return withProperty({ name: 'p', enum: entries })
}

/** The names of an enumeration, as its entries. */
function named(names: Record<string, string>): Record<string, { name: string }> {
  return Object.fromEntries(Object.entries(names).map(([value, name]) => [value, { name }]))
}

function many(count: number): unknown {
  const entries = Array.from({ length: count }, (_, id) => [`0x${id.toString(16)}`, { name: `p${id}` }])
  return { name: 'S', properties: Object.fromEntries(entries) }
}

function nested(depth: number): unknown {
  return depth === 1 ? {} : { a: nested(depth - 1) }
}

describe('a schema is accepted unchanged', () => {
  test.each<[string, unknown]>([
    ['all known fields', climate],
    ['no optional fields', { name: 'S', properties: {} }],
    ['a property with a name only', withProperty({ name: 'p' })],
    [
      'unknown fields at every level',
      {
        ...climate,
        vendor: { a: [1] },
        properties: { '0x0001': { ...fan, icon: null, enum: { '2': { name: 'x', colour: 'red' } } } },
      },
    ],
    ['a stream type', withProperty({ name: 'p', type: 'binary-stream' })],
    ['a stream type of texts', withProperty({ name: 'p', type: 'string-stream' })],
    ['an array type', withProperty({ name: 'p', type: 'uint8-array' })],
    ['enum of any numbers', withEnum(named({ '-1': 'a', '18446744073709551615': 'b', '0.5': 'c' }))],
    ['two values of one name', withEnum(named({ '1': 'reserved', '2': 'reserved' }))],
  ])('with %s', (_name, schema) => {
    expect(ServiceSchema.parse(schema)).toEqual(schema)
  })

  test('with as many properties as a device can declare', () => {
    expect(ServiceSchema.safeParse(many(schemaPropertiesMax)).success).toBe(true)
  })
})

describe('a schema is normalised', () => {
  test.each(['0x2000', '0x02000'])('for property %s', (key) => {
    expect(ServiceSchema.parse({ name: 'S', properties: { [key]: fan } }).properties).toEqual({ '0x2000': fan })
  })

  test('to the usual case of hex digits, type names and enum values', () => {
    const property = { name: 'p', type: 'UINT8', enum: { '0x0A': { name: 'ten' } } }
    const schema = { name: 'S', properties: { '0xABCD': property } }
    expect(ServiceSchema.parse(schema).properties).toEqual({
      '0xabcd': { name: 'p', type: 'uint8', enum: { '10': { name: 'ten' } } },
    })
  })

  test('and then accepted unchanged', () => {
    const ids = fc.uniqueArray(fc.integer({ min: 0, max: uint32Max }), { maxLength: 20 })
    forAll([ids, fc.boolean()], (propIds, isUpperCase) => {
      const digitsOf = (id: number) => (isUpperCase ? id.toString(16).toUpperCase() : id.toString(16))
      const keyOf = (id: number): string => `0x${digitsOf(id)}`
      const properties = Object.fromEntries(propIds.map((id) => [keyOf(id), { name: `p${id}` }]))
      const once = ServiceSchema.parse({ name: 'S', properties })
      expect(ServiceSchema.parse(once)).toEqual(once)
      for (const id of propIds) {
        expect(nameOfProperty(once, id)).toBe(`p${id}`)
        expect(propIdOfName(once, `p${id}`)).toBe(id)
      }
    })
  })
})

describe('a schema is refused', () => {
  const enumPath = ['properties', '0x2000', 'enum']

  test.each<[string, unknown, (string | number)[]]>([
    ['nothing', null, []],
    ['an array', [], []],
    ['without a name', { properties: {} }, ['name']],
    ['an empty name', { name: '', properties: {} }, ['name']],
    ['a long name', { name: 'x'.repeat(257), properties: {} }, ['name']],
    ['without properties', { name: 'S' }, ['properties']],
    ['properties in a list', { name: 'S', properties: [fan] }, ['properties']],
    ['a long description', { ...climate, description: 'x'.repeat(4097) }, ['description']],
    ['an invalid key', { name: 'S', properties: { fan } }, ['properties', 'fan']],
    ['a decimal key', { name: 'S', properties: { '8192': fan } }, ['properties', '8192']],
    ['a key without 0x', { name: 'S', properties: { '200a': fan } }, ['properties', '200a']],
    ['a key with 0X', { name: 'S', properties: { '0X2000': fan } }, ['properties', '0X2000']],
    ['a key without digits', { name: 'S', properties: { '0x': fan } }, ['properties', '0x']],
    ['a key beyond four bytes', { name: 'S', properties: { '0x100000000': fan } }, ['properties', '0x100000000']],
    ['a duplicate id', { name: 'S', properties: { '0x2000': fan, '0x02000': heat } }, ['properties', '0x02000']],
    ['a duplicate id, in two cases', { name: 'S', properties: { '0xAB': fan, '0xab': heat } }, ['properties', '0xab']],
    ['a duplicate name', { name: 'S', properties: { '0x1000': fan, '0x2000': fan } }, ['properties', '0x2000', 'name']],
    ['one property too many', many(schemaPropertiesMax + 1), ['properties']],
    ['a property without name', withProperty({ type: 'uint8' }), ['properties', '0x2000', 'name']],
    ['an invalid property', withProperty(null), ['properties', '0x2000']],
    ['an unknown type', withProperty({ name: 'p', type: 'uint7' }), ['properties', '0x2000', 'type']],
    ['readonly as text', withProperty({ name: 'p', readonly: 'true' }), ['properties', '0x2000', 'readonly']],
    ['a range as text', withProperty({ name: 'p', rangeMin: '0' }), ['properties', '0x2000', 'rangeMin']],
    ...[true, 30, '30d', { raw: 30 }, { weekly: '1w' }].map((history): [string, unknown, string[]] => [
      `a history of ${JSON.stringify(history)}`,
      withProperty({ name: 'p', history }),
      ['properties', '0x2000', 'history'],
    ]),
    ...['30', '1m', '876001h', '-1d', ''].map((daily): [string, unknown, string[]] => [
      `days kept for ${daily}`,
      withProperty({ name: 'p', history: { daily } }),
      ['properties', '0x2000', 'history', 'daily'],
    ]),
    ['an empty range', withProperty({ name: 'p', rangeMin: 1, rangeMax: 1 }), ['properties', '0x2000', 'rangeMax']],
    ['an enum key that is not a number', withEnum({ on: { name: 'x' } }), [...enumPath, 'on']],
    ['an enum key with zeros', withEnum({ '01': { name: 'x' } }), [...enumPath, '01']],
    ['an enum value twice', withEnum({ '10': { name: 'x' }, '0xa': { name: 'y' } }), [...enumPath, '0xa']],
    ['an enum entry without name', withEnum({ '1': {} }), [...enumPath, '1', 'name']],
    ['an enum entry that is a text', withEnum({ '1': 'On' }), [...enumPath, '1']],
    ['__proto__ at the top', JSON.parse('{"name":"S","properties":{},"__proto__":{}}'), []],
    ['__proto__ among properties', JSON.parse('{"name":"S","properties":{"__proto__":{"name":"p"}}}'), ['properties']],
    ['__proto__ in an unknown field', JSON.parse('{"name":"S","properties":{},"a":[{"__proto__":1}]}'), ['a', 0]],
    ['half a surrogate pair', { name: '\ud800', properties: {} }, ['name']],
    ['unknown fields too deep', { name: 'S', properties: {}, a: nested(16) }, ['a', ...Array(15).fill('a')]],
  ])('for %s', (_name, schema, path) => {
    const issues = ServiceSchema.safeParse(schema).error?.issues
    expect(issues?.map((issue) => issue.path)).toContainEqual(path)
  })

  test('for one enum entry too many', () => {
    const entries = Object.fromEntries(Array.from({ length: enumEntriesMax + 1 }, (_, value) => [value, { name: 'x' }]))
    expect(ServiceSchema.safeParse(withProperty({ name: 'p', enum: entries })).success).toBe(false)
  })
})

describe('lookups', () => {
  const schema = ServiceSchema.parse({
    name: 'S',
    properties: {
      '0x2000': fan,
      '0x2001': { name: 'Door', type: 'bool', enum: named({ '0': 'Shut', '1': 'Open' }) },
      '0x2002': { name: 'Big', type: 'uint64', enum: named({ '18446744073709551615': 'None' }) },
      '0x2003': {
        name: 'Ratio',
        type: 'float',
        enum: named({ '0.5': 'Half', '1e-7': 'Tiny', '10000000000000000000': 'Big' }),
      },
    },
  })

  test('find the id of a name', () => {
    expect(['Fan', 'Door', 'fan', '', 'constructor'].map((name) => propIdOfName(schema, name))).toEqual([
      ...[8192, 8193],
      ...[undefined, undefined, undefined],
    ])
    expect(nameOfProperty(schema, 1)).toBeUndefined()
  })

  test.each([
    [8192, 0, 'Off'],
    [8192, 1, 'On'],
    [8193, true, 'Open'],
    [8193, false, 'Shut'],
    [8194, '18446744073709551615', 'None'],
    [8195, 0.5, 'Half'],
    [8195, 1e-7, 'Tiny'],
    [8195, 1e19, 'Big'],
  ] as const)('show %i, %s as %s, and find it by that name', (propId, value, name) => {
    expect(enumNameOf(schema, propId, value)).toBe(name)
    expect(enumValueOf(schema, propId, name)).toBe(value)
  })

  test('show no name for a value without one, and find no value by a wrong name', () => {
    for (const value of [2, [0], 'constructor']) expect(enumNameOf(schema, 8192, value)).toBeUndefined()
    for (const name of ['off', 'constructor']) expect(enumValueOf(schema, 8192, name)).toBeUndefined()
    expect([enumNameOf(schema, 1, 0), enumValueOf(schema, 1, 'Off')]).toEqual([undefined, undefined])
  })
})
