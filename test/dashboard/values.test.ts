import { describe, expect, test } from 'vitest'
import { containsNull, mergePatchOf } from '#dashboard/conditions/json-text'
import { isWritable, parseValue, textOf, writeKindOf } from '#dashboard/pages/device/written-value'
import { enumName, exactDuration, nameOf, numberOf, schemaOfProperty, valueText } from '#dashboard/values/format-value'
import { lastMessageAt } from '#dashboard/values/last-message'
import { mergePatch } from '#model/meta'
import { deviceView, modifier, propertyView, serviceView } from '#test/dashboard/device-view'

const mode = { name: 'Mode', enum: { '0': { name: 'Off' }, '3': { name: 'Heating' } } }

describe('the text of a value', () => {
  test.each([
    [undefined, undefined, '–'],
    [propertyView('FLOAT'), undefined, '–'],
    [propertyView('FLOAT', 21.12345), undefined, (21.123).toLocaleString()],
    [propertyView('UINT32', 1_234_567), undefined, (1_234_567).toLocaleString()],
    [propertyView('UINT8', 3), mode, 'Heating'],
    [propertyView('UINT8', 7), mode, '7'],
    [propertyView('BOOL', true), undefined, 'Yes'],
    [propertyView('BOOL', false), mode, 'Off'],
    [propertyView('STRING', 'text'), undefined, 'text'],
    [propertyView('UINT64', '18446744073709551615'), undefined, '18446744073709551615'],
    [propertyView('BINARY', 'AAEC'), undefined, '3 bytes'],
    [propertyView('BINARY', 'AA=='), undefined, '1 bytes'],
    [propertyView('UINT8-ARRAY', [1, 2]), undefined, '1, 2'],
    [propertyView('UINT8-ARRAY', [1, 2, 3, 4, 5, 6, 7, 8, 9]), undefined, '1, 2, 3, 4, 5, 6, 7, 8 … (9)'],
    [propertyView('DATETIME', 0), undefined, new Date(0).toLocaleString()],
    [propertyView('FLOAT', undefined, { tag: 'error', error: 'broken' }), undefined, 'broken'],
    [propertyView('FLOAT', undefined, { tag: 'error' }), undefined, 'error'],
  ])('for %o is what users read', (shown, about, text) => {
    expect(valueText(shown, about)).toBe(text)
  })

  test('has names from the schema, and the id without a schema', () => {
    const schema = { name: 'Boiler', properties: { '0x2000': mode } }
    expect([schemaOfProperty(schema, 0x2000), schemaOfProperty(schema, 1), schemaOfProperty(undefined, 1)]).toEqual([
      mode,
      undefined,
      undefined,
    ])
    expect([nameOf(0x2000, mode), nameOf(0x20, undefined), enumName(3, mode)]).toEqual(['Mode', '0x0020', 'Heating'])
  })

  test('is a number in a chart only for numbers, booleans and numeric texts', () => {
    expect([numberOf(1.5), numberOf(true), numberOf('-12'), numberOf('x'), numberOf([1])]).toEqual([
      1.5,
      1,
      -12,
      undefined,
      undefined,
    ])
  })
})

test.each([
  [1_000, '1 s'],
  [90_000, '90 s'],
  [5 * 60_000, '5 min'],
  [2 * 3_600_000, '2 h'],
  [3 * 86_400_000, '3 d'],
])('%i ms are %s', (ms, text) => {
  expect(exactDuration(ms)).toBe(text)
})

test.each([
  ['the connection, if there are no later reports', 5, [3], 5],
  ['its latest report', 5, [7, undefined, 9, 8], 9],
  ['no message', 0, [undefined], 0],
])('the last message of a device is %s', (_, lastMessage, timestamps, at) => {
  const properties = timestamps.map((timestamp, propId) =>
    propertyView('FLOAT', 1, { propId, ...(timestamp !== undefined && { timestamp }) }),
  )
  const device = deviceView('A', { lastMessage, services: new Map([['climate', serviceView(...properties)]]) })
  expect([lastMessageAt(device), lastMessageAt(device)]).toEqual([at, at])
})

describe('the input of a value', () => {
  const range = { name: 'Setpoint', rangeMin: 5, rangeMax: 90 }
  test.each([
    ['FLOAT', '21.5', undefined, { value: 21.5 }],
    ['FLOAT', '', undefined, { fault: 'Must be a number.' }],
    ['FLOAT', '4', range, { fault: 'Must be at least 5.' }],
    ['FLOAT', '90', range, { fault: 'Must be below 90.' }],
    ['UINT8', '1.5', undefined, { fault: 'Must be a whole number.' }],
    ['UINT8', '-1', undefined, { fault: 'Must be at least 0.' }],
    ['UINT8', '256', undefined, { fault: 'Must be at most 255.' }],
    ['UINT8', '3', mode, { value: 3 }],
    ['BOOL', '0', mode, { value: false }],
    ['BOOL', 'true', undefined, { value: true }],
    ['UINT64', '18446744073709551615', undefined, { value: '18446744073709551615' }],
    ['INT64', '-7', undefined, { value: -7 }],
    ['INT64', 'seven', undefined, { fault: 'Must be a whole number.' }],
    ['INT64', '95', range, { fault: 'Must be below 90.' }],
    ['DATETIME', '1970-01-01T00:00:01Z', undefined, { value: 1000 }],
    ['DATETIME', 'soon', undefined, { fault: 'Must be a date and a time.' }],
    ['UINT8-ARRAY', '[1,2]', undefined, { value: [1, 2] }],
    ['UINT8-ARRAY', '1,2', undefined, { fault: 'Must be a list such as [1, 2, 3].' }],
    ['UINT8-ARRAY', '{}', undefined, { fault: 'Must be a list such as [1, 2, 3].' }],
    ['STRING', ' kept as it is ', undefined, { value: ' kept as it is ' }],
  ])('of type %s is read from %o', (type, text, about, read) => {
    expect(parseValue(text, propertyView(type), about)).toEqual(read)
  })

  test.each([
    ['FLOAT', 21.5, undefined],
    ['UINT8', 3, mode],
    ['BOOL', false, undefined],
    ['BOOL', false, mode],
    ['DATETIME', 1_790_000_000_000, undefined],
    ['UINT8-ARRAY', [1, 2], undefined],
    ['STRING', 'text', undefined],
  ])('of type %s starts with the current value %o', (type, value, about) => {
    const standing = propertyView(type, value)
    expect(parseValue(textOf(standing, about), standing, about)).toEqual({ value })
  })

  test('of an action starts with true', () => {
    const trigger = propertyView('BOOL', false, { modifier: { ...modifier, isActionable: true } })
    expect(textOf(trigger, undefined)).toBe('true')
  })

  test('is impossible for read-only properties', () => {
    expect([
      isWritable(propertyView('FLOAT'), undefined),
      isWritable(propertyView('FLOAT'), { name: 'Level', readonly: true }),
      isWritable(propertyView('FLOAT', 1, { modifier: { ...modifier, isReadOnly: true } }), undefined),
    ]).toEqual([true, false, false])
    expect(writeKindOf(propertyView('FLOAT-ARRAY'), undefined)).toBe('list')
  })
})

describe('a merge patch', () => {
  test.each([
    [{}, {}],
    [{ a: 1 }, { a: 1 }],
    [{ a: 1 }, {}],
    [{}, { a: { b: [1, null] } }],
    [{ a: { b: 1, c: 2 } }, { a: { b: 1 } }],
    [{ a: { b: 1 } }, { a: [1] }],
    [{ a: [1, 2] }, { a: [2, 1] }],
    [{ a: 1 }, { a: { b: 1 } }],
  ])('changes %o to %o', (before, after) => {
    const patch = mergePatchOf(before, after)
    expect(mergePatch(before, (patch ?? {}) as Parameters<typeof mergePatch>[1])).toEqual(after)
  })

  test('contains only changes', () => {
    expect(mergePatchOf({ a: 1, b: { c: 1 } }, { b: { c: 1 }, a: 1 })).toBeUndefined()
    expect(mergePatchOf({ a: 1, b: { c: 1, d: 2 } }, { a: 1, b: { c: 3, d: 2 } })).toEqual({ b: { c: 3 } })
  })

  test('cannot express null', () => {
    expect([containsNull({ a: { b: null } }), containsNull({ a: [null] }), containsNull({})]).toEqual([
      true,
      false,
      false,
    ])
  })
})
