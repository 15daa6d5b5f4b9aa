import { expect, test } from 'vitest'
import { ActionBody } from '#model/action'

const body = { devices: ['b', 'A', 'B'], serviceIdentifier: 'svc', updates: { '1': 5 } }

test('devices are normalised, sorted and unique', () => {
  expect(ActionBody.parse(body)).toEqual({ ...body, devices: ['A', 'B'] })
  const groups = ['crn#group:5Kd9tVw3Cx', '5Kd9tVw3Cx']
  expect(ActionBody.parse({ ...body, devices: undefined, groups })).toMatchObject({ groups: ['5Kd9tVw3Cx'] })
})

const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`${index}`, 1]))

test.each<[string, object, string]>([
  ['with neither devices nor groups', { devices: undefined }, 'devices'],
  ['with an invalid device', { devices: ['a/b'] }, 'devices.0'],
  ['with any device', { devices: ['*'] }, 'devices.0'],
  ['with too many devices', { devices: Array.from({ length: 10_001 }, (_, index) => `D${index}`) }, 'devices'],
  ['with too many groups', { groups: Array.from({ length: 101 }, () => '5Kd9tVw3Cx') }, 'groups'],
  ['with an invalid group', { groups: ['x'] }, 'groups.0'],
  ['without a property', { updates: {} }, 'updates'],
  ['with too many properties', { updates: keys(65) }, 'updates'],
  ['with a value that no property accepts', { updates: { '1': [[1]] } }, 'updates.1.0'],
  ['with a value that is an object', { updates: { '1': { a: { b: 1 } } } }, 'updates.1.a'],
  ['with a prototype', { updates: { '1': JSON.parse('{"__proto__":1}') } }, 'updates.1'],
  ['with more properties than a device has', { updates: { '1': 'x'.repeat(256 * 1024) } }, 'updates'],
  ['with an unknown field', { wait: 0 }, ''],
])('an action is refused %s', (_, more, path) => {
  const { error } = ActionBody.safeParse({ ...body, ...more })
  expect(error?.issues.map((issue) => issue.path.join('.'))).toContain(path)
})

test('an action may use all its limits', () => {
  expect(ActionBody.safeParse({ ...body, updates: keys(64) }).success).toBe(true)
})
