import { describe, expect, test } from 'vitest'
import {
  type BindingLists,
  BoundGroups,
  bindingLists,
  boundDevicesMax,
  boundGroupsMax,
  type DeviceBinding,
  GroupBody,
  GroupEntry,
  GroupPatch,
  groupEntryOf,
} from '#model/group'
import { detailsMax } from '#model/problem'

describe('a group', () => {
  test('has normalised device names, sorted and unique', () => {
    const body = { name: 'Küche 1', devices: ['sensor-2', 'SENSOR-1', 'Sensor-2'] }
    expect(GroupBody.parse(body)).toEqual({ name: 'Küche 1', devices: ['SENSOR-1', 'SENSOR-2'] })
  })

  test('with thousands of wrong devices reports only the maximum number of faults', () => {
    const { error } = GroupBody.safeParse({ name: 'a', devices: Array(boundDevicesMax).fill('with an invalid device') })
    expect(error?.issues).toHaveLength(detailsMax)
  })

  test.each<[what: string, body: unknown]>([
    ['without a name', { devices: [] }],
    ['without devices', { name: 'a' }],
    ['of an empty name', { name: '', devices: [] }],
    ['of a long name', { name: 'a'.repeat(129), devices: [] }],
    ['of a name that ends with a space', { name: 'a ', devices: [] }],
    ['with `*` as devices', { name: 'a', devices: ['*'] }],
    ['without a list', { name: 'a', devices: 'A' }],
    ['of too many devices', { name: 'a', devices: Array.from({ length: boundDevicesMax + 1 }, (_, n) => `D-${n}`) }],
    ['with an unknown field', { name: 'a', devices: [], id: '1' }],
  ])('is refused %s', (_, body) => {
    expect(GroupBody.safeParse(body).success).toBe(false)
  })

  test('accepts a patch of either field', () => {
    expect(GroupPatch.parse({ name: 'b' })).toEqual({ name: 'b' })
    expect(GroupPatch.parse({ devices: ['b', 'a'] })).toEqual({ devices: ['A', 'B'] })
    expect(GroupPatch.safeParse({ createdBy: 'me' }).success).toBe(false)
  })

  test('is shown without internal fields', () => {
    const authorship = {
      createdBy: 'crn#user:2Vb7qYx9Kd',
      createdAt: 1,
      updatedBy: 'crn#user:3Vb7qYx9Kd',
      updatedAt: 2,
    }
    const entry = groupEntryOf('7yPq2mVx4C', { name: 'a', devices: ['A'], ...authorship, edit: 5 })
    expect(entry).toEqual({ name: 'a', devices: ['A'], resourceIdentifier: 'crn#group:7yPq2mVx4C', ...authorship })
    expect(GroupEntry.parse(entry)).toEqual(entry)
  })
})

describe('the groups of a binding', () => {
  test('are given by ids or resource names, and returned as unique ids', () => {
    const names = ['crn#group:7yPq2mVx4C', '3Vb7qYx9Kd', '7yPq2mVx4C']
    expect(BoundGroups.parse(names)).toEqual(['3Vb7qYx9Kd', '7yPq2mVx4C'])
  })

  test('are refused for another resource, for `*` and for an empty id', () => {
    for (const name of ['crn#alarm:7yPq2mVx4C', '*', '']) expect(BoundGroups.safeParse([name]).success).toBe(false)
  })

  test('have a maximum number', () => {
    const groups = Array.from({ length: boundGroupsMax + 1 }, (_, n) => `1${n}`.padEnd(10, '1'))
    expect(BoundGroups.safeParse(groups).success).toBe(false)
    expect(BoundGroups.safeParse(groups.slice(1).map((id) => id.replaceAll('0', 'x'))).success).toBe(true)
  })
})

const groups = new Map([
  ['G1', ['B', 'C']],
  ['G2', []],
])

test.each<[string, DeviceBinding, BindingLists]>([
  ['neither: all', { devices: null, groups: null }, '*'],
  ['devices', { devices: ['A'], groups: null }, [['A']]],
  ['no devices', { devices: [], groups: null }, [[]]],
  ['groups', { devices: null, groups: ['G1', 'G2'] }, [[], ['B', 'C'], []]],
  ['no groups', { devices: null, groups: [] }, [[]]],
  [
    'both',
    { devices: ['A', 'B'], groups: ['G1'] },
    [
      ['A', 'B'],
      ['B', 'C'],
    ],
  ],
  ['both, empty', { devices: [], groups: ['G2'] }, [[], []]],
  ['a group that was deleted', { devices: ['A'], groups: ['G1', 'G9'] }, '*'],
])('the devices of a binding are listed with %s', (_, bound, devices) => {
  expect(bindingLists(bound, (group) => groups.get(group))).toEqual(devices)
})
