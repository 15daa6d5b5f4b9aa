import { describe, expect, test } from 'vitest'
import type { Schema } from '#client/client'
import {
  columnOf,
  columnsOf,
  defaultColumnKeys,
  propertyKey,
  trendOf,
  valuesText,
} from '#dashboard/pages/fleet/columns'
import { withUnit } from '#dashboard/values/format-value'
import { deviceView, propertyView, serviceView } from '#test/dashboard/device-view'

const schema: Schema = {
  name: 'Boiler',
  properties: {
    '0x0001': { name: 'Temperature', type: 'float', unit: '°C' },
    '0x0002': { name: 'Mode', type: 'uint8', enum: { '1': { name: 'Heating' } } },
  },
}
const schemas = new Map([['boiler', schema]])

const boiler = deviceView('B-1', {
  status: 'idle',
  numConnects: 7,
  meta: { location: 'Hall 3', floor: { number: 2 } },
  services: new Map([
    [
      'boiler',
      serviceView(
        propertyView('FLOAT', 21.5, { propId: 1 }),
        propertyView('UINT8', 1, { propId: 2 }),
        propertyView('UINT8-ARRAY', [1], { propId: 3 }),
        propertyView('STRING', 'text', { propId: 4 }),
        propertyView('FLOAT', undefined, { propId: 5 }),
      ),
    ],
  ]),
})

describe('a column', () => {
  test.each([
    [propertyKey('boiler', 1), 'Temperature', '°C', '21.5', 21.5, true],
    [propertyKey('boiler', 2), 'Mode', undefined, 'Heating', 1, false],
    [propertyKey('boiler', 4), '0x0004', undefined, 'text', 'text', true],
    [propertyKey('boiler', 5), '0x0005', undefined, '–', undefined, true],
    [propertyKey('a/b', 5), '0x0005', undefined, '–', undefined, true],
    ['meta:location', 'location', undefined, 'Hall 3', 'Hall 3', undefined],
    ['meta:floor', 'floor', undefined, '{"number":2}', '{"number":2}', undefined],
    ['meta:owner', 'owner', undefined, '', undefined, undefined],
    ['connects', 'Connects', undefined, '7', 7, true],
  ])('with key %s has title, unit, text and order', (key, title, unit, text, order, isNumber) => {
    const column = columnOf(key, schemas)
    expect([column?.title, column?.unit, column?.text?.(boiler), column?.sortKey?.(boiler), column?.isNumber]).toEqual([
      title,
      unit,
      text,
      order,
      isNumber,
    ])
  })

  test.each(['nothing', 'property:boiler', ''])('with key %o does not exist', (key) => {
    expect(columnOf(key, schemas)).toBeUndefined()
  })

  test('with statuses is sorted from online to offline', () => {
    const order = columnOf('status', schemas)?.sortKey
    expect((['online', 'idle', 'offline'] as const).map((status) => order?.({ ...boiler, status }))).toEqual([0, 1, 2])
  })
})

test('a property with the title of another column gets the name of its service', () => {
  const status = { ...schema, properties: { '0x0001': { name: 'Status', type: 'string' } } } as Schema
  const keys = ['device', 'status', propertyKey('boiler', 1), 'status', 'nothing']
  expect(columnsOf(keys, new Map([['boiler', status]])).map(({ title }) => title)).toEqual([
    'Device',
    'Status',
    'Boiler · Status',
  ])
})

test('the line of values has names and units, but no unset values and no values that have a column', () => {
  const columns = columnsOf([propertyKey('boiler', 2)], schemas)
  expect([valuesText(boiler, schemas, columns), valuesText(boiler, new Map(), [])]).toEqual([
    'Temperature 21.5 °C · 0x0004 text',
    '0x0001 21.5 · 0x0002 1 · 0x0004 text',
  ])
  expect([withUnit('1', ''), withUnit('1', 'm')]).toEqual(['1', '1 m'])
})

test('the trend shows the first number that has a column, or else the first number that has a value', () => {
  const other = serviceView(propertyView('UINT8', 1, { propId: 1 }), propertyView('FLOAT', 3, { propId: 9 }))
  const device = { ...boiler, services: new Map([...boiler.services, ['other', other]]) }
  const trend = (...keys: string[]) => trendOf(device, schemas, columnsOf(keys, schemas))
  const place = { deviceIdentifier: 'B-1', serviceIdentifier: 'boiler' }
  expect(trend('status')).toEqual({ ...place, propId: 1, name: 'Temperature', unit: '°C' })
  expect(trend(propertyKey('boiler', 2), propertyKey('other', 9))).toMatchObject({
    serviceIdentifier: 'other',
    propId: 9,
    name: '0x0009',
  })
  expect(trendOf({ ...boiler, services: new Map() }, schemas, [])).toBeUndefined()
})

test('by default, the columns have a line of values, or the first properties of the selected service', () => {
  expect(defaultColumnKeys('', [])).toEqual(['device', 'status', 'trend', 'values'])
  expect(defaultColumnKeys('boiler', [1, 2, 3, 4, 5, 6])).toEqual([
    'device',
    'status',
    'trend',
    ...[1, 2, 3, 4, 5].map((propId) => propertyKey('boiler', propId)),
  ])
})
