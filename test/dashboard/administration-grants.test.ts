import { expect, test } from 'vitest'
import {
  deviceFilterOf,
  firstGrant,
  grantText,
  isEmptyGrant,
  levelOf,
  levels,
  namedActions,
  parseNames,
  resourceRows,
  singleActions,
  withActions,
  withToggledAction,
} from '#dashboard/pages/administration/grants'
import { actions, type Grant, isPermitted, resources, scopeOf } from '#model/scope'

/** Compares the form of permissions with the evaluation of grants by the server. Contract 2, Model. */

const grantOf = (permissions: Grant['permissions']): Grant => ({ permissions, devices: ['*'], services: ['*'] })

test('the form has a row for each resource and all actions', () => {
  expect(resourceRows.map(({ resource }) => resource)).toEqual(['*', ...resources])
  expect([...singleActions].sort()).toEqual([...actions].sort())
})

test.each([
  {},
  { service: ['read'] },
  { service: ['*'], '*': ['read'] },
  { '*': ['*'] },
  { meta: ['read', 'update'], '*': ['delete'] },
] as Grant['permissions'][])('the actions of a grant are those that the server permits: %j', (permissions) => {
  const grant = grantOf(permissions)
  const scope = scopeOf([grant])
  for (const resource of resources)
    for (const action of actions)
      expect([
        resource,
        action,
        namedActions(grant, resource).includes(action) || namedActions(grant, '*').includes(action),
      ]).toEqual([resource, action, isPermitted(scope, resource, action)])
})

test('each chosen level is read again, and an action that is added and removed leaves the grant unchanged', () => {
  const before = grantOf({ meta: ['read'] })
  for (const { resource } of resourceRows) {
    for (const level of Object.keys(levels) as (keyof typeof levels)[])
      expect(levelOf(withActions(before, resource, levels[level]), resource)).toBe(level)
    for (const action of singleActions) {
      const on = withToggledAction(before, resource, action)
      expect(withToggledAction(on, resource, action)).toEqual(before)
    }
  }
  const all = grantOf({ service: ['*'] })
  expect(withToggledAction(all, 'service', 'delete').permissions.service).toEqual(['read', 'create', 'update'])
  expect(levelOf(grantOf({ service: ['create'] }), 'service')).toBeUndefined()
})

test.each<[Grant, string]>([
  [grantOf({ service: ['read', 'update'], meta: [] }), 'service: read, update — on all devices, all services'],
  [grantOf({ '*': ['*'] }), 'everything on any resource — on all devices, all services'],
  [{ ...grantOf({}), devices: [], services: [] }, 'nothing — on no device, no service'],
  [{ ...grantOf({}), devices: ['A', 'B', 'C', 'D', 'E'] }, 'nothing — on A, B, C and 2 more devices, all services'],
  [{ ...grantOf({}), devices: ['P-*'] }, 'nothing — on P-*, all services'],
  [{ ...grantOf({}), devices: [], groups: ['g'] }, 'nothing — on the devices of 1 group, all services'],
  [{ ...grantOf({}), devices: ['A'], groups: ['g', 'h'] }, 'nothing — on A, the devices of 2 groups, all services'],
])('the grant %j reads: %s', (grant, text) => {
  expect(grantText(grant)).toBe(text)
})

test('names are separated by commas and line breaks', () => {
  expect(parseNames(' LAMP-1, LAMP-2\nLAMP-1\n\n  A B7 ')).toEqual(['LAMP-1', 'LAMP-2', 'A B7'])
})

test('a grant without permissions, or without devices and services, is empty', () => {
  expect(isEmptyGrant(firstGrant)).toBe(false)
  expect(isEmptyGrant({ ...firstGrant, devices: [], services: [] })).toBe(true)
  expect(isEmptyGrant(grantOf({ service: [] }))).toBe(true)
})

test.each<[Partial<Grant>, unknown]>([
  [{ devices: ['*', 'A'] }, true],
  [{ devices: ['a', 'B'] }, { or: [{ in: [{ var: 'deviceIdentifier' }, ['A', 'B']] }] }],
  [
    { devices: ['P-*'], groups: ['5Kd9tVw3Cx'] },
    {
      or: [
        { in: [{ var: 'deviceIdentifier' }, ['M']] },
        { and: [{ '>=': [{ var: 'deviceIdentifier' }, 'P-'] }, { '<=': [{ var: 'deviceIdentifier' }, 'P-~'] }] },
      ],
    },
  ],
  // There is no filter for a group that the user may not see, and for more names than fit into a request.
  [{ devices: [], groups: ['unknown'] }, undefined],
  [{ devices: Array.from({ length: 301 }, (_, number) => `D-${number}`) }, undefined],
])('the devices of %j are found by the filter %j', (part, filter) => {
  const groups = [{ resourceIdentifier: 'crn#group:5Kd9tVw3Cx', name: 'Hall', devices: ['M'] }]
  expect(deviceFilterOf({ ...grantOf({}), ...part }, groups)).toEqual(filter)
})
