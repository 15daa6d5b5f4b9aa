import { expect, test } from 'vitest'
import {
  actionColumns,
  firstGrant,
  isIdle,
  namesIn,
  namesText,
  permissionsText,
  resourceRows,
  tickedOf,
  toggled,
} from '#dashboard/pages/administration/grants'
import { actions, type Grant, isPermitted, resources, scopeOf } from '#model/scope'

/** The matrix of permissions compared with the server's evaluation of grants. Contract 2, Model. */

const grantOf = (permissions: Grant['permissions']): Grant => ({ permissions, devices: ['*'], services: ['*'] })

test('the matrix has a row for each resource and a column for each action of the server', () => {
  expect(resourceRows.map(({ resource }) => resource)).toEqual(['*', ...resources])
  expect([...actionColumns].sort()).toEqual(['*', ...actions].sort())
})

test.each([
  {},
  { service: ['read'] },
  { service: ['*'], '*': ['read'] },
  { '*': ['*'] },
  { meta: ['read', 'update'], '*': ['delete'] },
] as Grant['permissions'][])('exactly the permitted actions are ticked: %j', (permissions) => {
  const grant = grantOf(permissions)
  const scope = scopeOf([grant])
  for (const resource of resources)
    for (const action of actions)
      expect([resource, action, tickedOf(grant, resource, action) !== undefined]).toEqual([
        resource,
        action,
        isPermitted(scope, resource, action),
      ])
})

test('ticking and unticking any box restores the grant', () => {
  const before = grantOf({ service: ['read'] })
  for (const { resource } of resourceRows)
    for (const action of actionColumns) {
      if (tickedOf(before, resource, action) === 'given') continue
      const on = toggled(before, resource, action)
      expect(tickedOf(on, resource, action)).toBe('given')
      // Ticking "any" replaces the single actions of its row.
      if (action === '*' && resource === 'service') expect(on.permissions).toEqual({ service: ['*'] })
      else expect(toggled(on, resource, action)).toEqual(before)
    }
  expect(toggled(before, 'service', 'read').permissions).toEqual({})
})

test('permissions and names in words', () => {
  expect(permissionsText(grantOf({ service: ['read', 'update'], meta: [] }))).toBe('service: read, update')
  expect(permissionsText(grantOf({ '*': ['*'] }))).toBe('everything on any resource')
  expect(permissionsText(grantOf({}))).toBe('nothing')
  expect(namesText(['*'], 'device')).toBe('all devices')
  expect(namesText([], 'device')).toBe('no device')
  expect(namesText(['A', 'B', 'C', 'D', 'E'], 'device')).toBe('A, B, C and 2 more devices')
})

test('names are separated by commas and line breaks', () => {
  expect(namesIn(' LAMP-1, LAMP-2\nLAMP-1\n\n  A B7 ')).toEqual(['LAMP-1', 'LAMP-2', 'A B7'])
})

test('a grant without permissions, devices or services is idle', () => {
  expect(isIdle(firstGrant)).toBe(false)
  expect(isIdle({ ...firstGrant, devices: [], services: [] })).toBe(true)
  expect(isIdle(grantOf({ service: [] }))).toBe(true)
})
