import { describe, expect, test } from 'vitest'
import type { DeviceView, ServiceView } from '#client/client'
import { operatorsFor, parseConditionValue } from '#dashboard/pages/fleet/condition'
import { isSameOrder, sortedBy } from '#dashboard/pages/fleet/sort-order'
import { type Condition, defaultView, queryOf, viewOf } from '#dashboard/pages/fleet/view'

function service(values: Readonly<Record<number, number | string | boolean>>): ServiceView {
  const entries = Object.entries(values).map(
    ([propId, value]) =>
      [
        Number(propId),
        {
          propId: Number(propId),
          type: 'FLOAT',
          tag: 'value' as const,
          modifier: { isReadOnly: false, isActionable: false, isVolatile: false, isError: false, isArray: false },
          value,
        },
      ] as const,
  )
  const map = new Map(entries)
  return Object.assign(map, { valueAt: (propId: number) => map.get(propId)?.value })
}

function device(deviceIdentifier: string, more: Partial<DeviceView> = {}): DeviceView {
  return {
    deviceIdentifier,
    status: 'online',
    lastMessage: 0,
    lastConnect: 0,
    numConnects: 0,
    meta: {},
    services: new Map(),
    ...more,
  }
}

const fleet = new Map(
  [
    device('A-1', { services: new Map([['heat', service({ 1: 10 })]]) }),
    device('A-2', { status: 'offline' }),
    device('B-1', { status: 'idle', services: new Map([['heat', service({ 1: 30 })]]) }),
    device('B-2', { services: new Map([['heat', service({ 1: 20 })]]) }),
  ].map((each) => [each.deviceIdentifier, each]),
)
const identifiers = [...fleet.keys()]
const temperature = (one: DeviceView) => one.services.get('heat')?.valueAt(1) as number | undefined
const where = (operator: Condition['operator'], value: string, propId = 1): Condition => ({
  serviceIdentifier: 'heat',
  propId,
  operator,
  value,
})

describe('sorted rows', () => {
  test('devices without the value come last in both orders', () => {
    expect(sortedBy(identifiers, fleet, temperature, false)).toEqual(['A-1', 'B-2', 'B-1', 'A-2'])
    expect(sortedBy(identifiers, fleet, temperature, true)).toEqual(['B-1', 'B-2', 'A-1', 'A-2'])
  })

  test('equal values keep their order, numbers are before texts, and unknown devices are left out', () => {
    const keys: Record<string, number | string> = { 'A-1': 'x', 'A-2': 1, 'B-1': 'x', 'B-2': 1 }
    const sorted = sortedBy(['NEW', ...identifiers], fleet, ({ deviceIdentifier }) => keys[deviceIdentifier], false)
    expect(sorted).toEqual(['A-2', 'B-2', 'A-1', 'B-1'])
  })

  test('isSameOrder', () => {
    expect([isSameOrder(['a', 'b'], ['a', 'b']), isSameOrder(['a', 'b'], ['b', 'a']), isSameOrder([], ['a'])]).toEqual([
      true,
      false,
      false,
    ])
  })
})

describe('the operand of a condition', () => {
  const mode = { name: 'Mode', type: 'uint8', enum: { '0': { name: 'Off' }, '3': { name: 'Heating' } } }
  test.each([
    ['21.5', undefined, 21.5],
    ['21,5', undefined, 21.5],
    ['heating', mode, 3],
    ['Yes', undefined, 1],
    ['false', undefined, 0],
    ['Hall 3', undefined, 'Hall 3'],
    ['', undefined, ''],
  ])('%o means %o', (text, about, wanted) => {
    expect(parseConditionValue(text, about)).toBe(wanted)
  })

  test('enum values have two operators, numbers six', () => {
    expect([operatorsFor(mode).length, operatorsFor({ name: 'Level', type: 'float' }).length]).toEqual([2, 6])
  })
})

describe('the view in the address', () => {
  test('the default view has an empty query', () => {
    expect([queryOf(defaultView), viewOf('')]).toEqual(['', defaultView])
  })

  test.each([
    { ...defaultView, search: 'a&b=c ü' },
    { ...defaultView, status: 'offline' as const, service: 'heat' },
    { ...defaultView, condition: where('>=', '2 > 1') },
    { ...defaultView, sort: 'property:heat/1', isDescending: true },
    { ...defaultView, isDescending: true },
  ])('round trip: %o', (view) => {
    expect(viewOf(queryOf(view))).toEqual(view)
  })

  test.each(['status=burning', 'where=heat', 'where=heat/x&is=>1', 'where=heat/1&is=1', 'sort='])(
    'an invalid query is ignored: %s',
    (query) => {
      expect(viewOf(query)).toEqual(defaultView)
    },
  )
})
