import { describe, expect, test } from 'vitest'
import type { DeviceView } from '#client/client'
import { isSameOrder, sortedBy } from '#dashboard/pages/fleet/columns'
import { toggleSelection } from '#dashboard/pages/fleet/selection'
import { defaultView, operatorsFor, parseConditionValue, queryOf, viewOf } from '#dashboard/pages/fleet/view'
import { deviceView, propertyView, serviceView } from '#test/dashboard/device-view'

const heated = (identifier: string, degrees: number) =>
  deviceView(identifier, { services: new Map([['heat', serviceView(propertyView('FLOAT', degrees))]]) })
const devices = [heated('A-1', 10), deviceView('A-2'), heated('B-1', 30), heated('B-2', 20)]
const fleet = new Map(devices.map((each) => [each.deviceIdentifier, each]))
const identifiers = [...fleet.keys()]
const temperature = ({ services }: DeviceView) => services.get('heat')?.valueAt(0x2000) as number | undefined

describe('sorted rows', () => {
  test('have devices without the value at the end in both orders', () => {
    expect(sortedBy(identifiers, fleet, temperature, false)).toEqual(['A-1', 'B-2', 'B-1', 'A-2'])
    expect(sortedBy(identifiers, fleet, temperature, true)).toEqual(['B-1', 'B-2', 'A-1', 'A-2'])
  })

  test('keep the order of equal values, have numbers before texts, and have no unknown devices', () => {
    const keys: Record<string, number | string> = { 'A-1': 'x', 'A-2': 1, 'B-1': 'x', 'B-2': 1 }
    const sorted = sortedBy(['NEW', ...identifiers], fleet, ({ deviceIdentifier }) => keys[deviceIdentifier], false)
    expect(sorted).toEqual(['A-2', 'B-2', 'A-1', 'B-1'])
  })

  test('are compared by their identifiers', () => {
    expect(isSameOrder(['a', 'b'], ['a', 'b'])).toBe(true)
    expect([isSameOrder(['a', 'b'], ['b', 'a']), isSameOrder([], ['a'])]).toEqual([false, false])
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
  ])('that is typed as %o means %o', (text, about, wanted) => {
    expect(parseConditionValue(text, about)).toBe(wanted)
  })

  test('of an enum property has two operators, and that of a number has six', () => {
    expect([operatorsFor(mode).length, operatorsFor({ name: 'Level', type: 'float' }).length]).toEqual([2, 6])
  })
})

describe('the view in the address', () => {
  test('is empty for the default view', () => {
    expect([queryOf(defaultView), viewOf('')]).toEqual(['', defaultView])
  })

  test.each([
    { ...defaultView, search: 'a&b=c ü' },
    { ...defaultView, status: 'offline' as const, service: 'heat' },
    {
      ...defaultView,
      condition: { serviceIdentifier: 'heat', propId: 1, operator: '>=' as const, value: '2 > 1' },
    },
    { ...defaultView, sort: 'property:heat/1', isDescending: true },
    { ...defaultView, isDescending: true },
  ])('is read again from its query: %o', (view) => {
    expect(viewOf(queryOf(view))).toEqual(view)
  })

  test.each(['status=burning', 'where=heat', 'where=heat/x&is=>1', 'where=heat/1&is=1', 'sort='])(
    'is ignored if it is invalid: %s',
    (query) => {
      expect(viewOf(query)).toEqual(defaultView)
    },
  )
})

test.each<[selected: string[], pressed: string, from: string | undefined, expected: string[]]>([
  [[], 'B', undefined, ['B']],
  [['B', 'C'], 'B', undefined, ['C']],
  [['B'], 'D', 'B', ['B', 'C', 'D']],
  [['D'], 'B', 'D', ['D', 'B', 'C']],
  [['A', 'B', 'C', 'D'], 'C', 'A', ['D']],
  // The row of the first press is no longer shown.
  [['X'], 'C', 'X', ['X', 'C']],
])('after the selection %j, a press on %s with Shift after %s selects %j', (selected, pressed, from, expected) => {
  expect([...toggleSelection(new Set(selected), ['A', 'B', 'C', 'D', 'E'], pressed, from)]).toEqual(expected)
})
