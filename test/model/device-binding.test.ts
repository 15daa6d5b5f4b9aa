import { expect, test } from 'vitest'
import { type BindingLists, bindingLists, type DeviceBinding } from '#model/group'

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
