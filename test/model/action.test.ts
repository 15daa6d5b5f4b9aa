import { describe, expect, test } from 'vitest'
import { ActionBody } from '#model/action'

const body = { devices: ['b', 'A', 'B'], serviceIdentifier: 'svc', updates: { '1': 5 } }

test('devices come out in their normal form, sorted, each once', () => {
  expect(ActionBody.parse(body)).toEqual({ ...body, devices: ['A', 'B'] })
  const groups = ['crn#group:5Kd9tVw3Cx', '5Kd9tVw3Cx']
  expect(ActionBody.parse({ ...body, devices: undefined, groups })).toMatchObject({ groups: ['5Kd9tVw3Cx'] })
})

const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`${index}`, 1]))

describe('is refused', () => {
  test.each<[string, object, string]>([
    ['with neither devices nor groups', { devices: undefined }, 'devices'],
    ['with a device that is none', { devices: ['a/b'] }, 'devices.0'],
    ['with any device', { devices: ['*'] }, 'devices.0'],
    ['with too many devices', { devices: Array.from({ length: 10_001 }, (_, index) => `D${index}`) }, 'devices'],
    ['with too many groups', { groups: Array.from({ length: 101 }, () => '5Kd9tVw3Cx') }, 'groups'],
    ['with a group that is none', { groups: ['x'] }, 'groups.0'],
    ['without a property', { updates: {} }, 'updates'],
    ['with too many properties', { updates: keys(65) }, 'updates'],
    ['with a value that no property has', { updates: { '1': [[1]] } }, 'updates.1.0'],
    ['with a value that is an object', { updates: { '1': { a: { b: 1 } } } }, 'updates.1.a'],
    ['with a prototype', { updates: { '1': JSON.parse('{"__proto__":1}') } }, 'updates.1'],
    ['with more than a device takes', { updates: { '1': 'x'.repeat(256 * 1024) } }, 'updates'],
    ['with more beside', { wait: 0 }, ''],
  ])('%s', (_, more, path) => {
    const { error } = ActionBody.safeParse({ ...body, ...more })
    expect(error?.issues.map((issue) => issue.path.join('.'))).toContain(path)
  })
})

test('takes as much as it may', () => {
  expect(ActionBody.safeParse({ ...body, updates: keys(64) }).success).toBe(true)
})
