import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import {
  actions,
  devicesWithin,
  everything,
  Grant,
  grantDevicesMax,
  grantServicesMax,
  isPermitted,
  reachesDevice,
  reachesEvery,
  reachesService,
  resources,
  scopeOf,
  servicesOfDevicesWithin,
  servicesWithin,
} from '#model/scope'
import { forAll } from '#test/kit/for-all'
import { grants as someGrants } from '#test/model/grants'

const uuid = '7F1D3A52-0B6C-4F0E-9A55-2B8F5F1C9D01'
const all: Grant = { permissions: { '*': ['*'] }, devices: ['*'], services: ['*'] }

describe('a grant', () => {
  test('has normalised names', () => {
    const grant = { permissions: { service: ['read'] }, devices: ['sensor-1', '*'], services: [uuid, 'Climate', '*'] }
    expect(Grant.parse(grant)).toEqual({
      permissions: { service: ['read'] },
      devices: ['SENSOR-1', '*'],
      services: [uuid.toLowerCase(), 'Climate', '*'],
    })
  })

  test.each<[string, unknown, string]>([
    ['no permissions', { devices: [], services: [] }, 'permissions'],
    ['no devices', { permissions: {}, services: [] }, 'devices'],
    ['no services', { permissions: {}, devices: [] }, 'services'],
    ['an unknown resource', { ...all, permissions: { doors: ['read'] } }, 'permissions'],
    ['an unknown action', { ...all, permissions: { service: ['write'] } }, 'permissions.service.0'],
    ['actions as a text', { ...all, permissions: { service: 'read' } }, 'permissions.service'],
    ['more actions than exist', { ...all, permissions: { service: Array(6).fill('read') } }, 'permissions.service'],
    ['an empty device', { ...all, devices: [''] }, 'devices.0'],
    ['a star in the middle', { ...all, devices: ['A', 'SENSOR-*7'] }, 'devices.1'],
    ['two stars', { ...all, devices: ['SENSOR-**'] }, 'devices.0'],
    ['an invalid prefix', { ...all, devices: ['a/*'] }, 'devices.0'],
    ['a service by prefix', { ...all, services: ['climate*'] }, 'services.0'],
    ['an invalid group', { ...all, groups: ['a b'] }, 'groups.0'],
    ['an invalid device', { ...all, devices: ['a/b'] }, 'devices.0'],
    ['an invalid service', { ...all, services: ['__proto__'] }, 'services.0'],
    ['a number for a device', { ...all, devices: [1] }, 'devices.0'],
    ['an unknown field', { ...all, users: [] }, ''],
    ['too many devices', { ...all, devices: Array(grantDevicesMax + 1).fill('A') }, 'devices'],
    ['too many services', { ...all, services: Array(grantServicesMax + 1).fill('a') }, 'services'],
    ['nothing', null, ''],
  ])('with %s is refused', (_, grant, path) => {
    const { error } = Grant.safeParse(grant)
    expect(error?.issues.map((issue) => issue.path.join('.'))).toContain(path)
  })

  test('may be as large as the limits', () => {
    const grant = { ...all, devices: Array(grantDevicesMax).fill('A'), services: Array(grantServicesMax).fill('a') }
    expect(Grant.safeParse(grant).success).toBe(true)
  })
})

describe('a scope', () => {
  const scope = scopeOf([
    { permissions: { service: ['read', 'update'], meta: ['*'] }, devices: ['A'], services: ['x'] },
    { permissions: { service: ['read'] }, devices: ['B'], services: ['*'] },
    { permissions: { users: ['read'] }, devices: [], services: [] },
  ])

  test('combines grants without mixing their lists', () => {
    const reached = ['A x', 'A y', 'B x', 'B y', 'C x'].filter((pair) => {
      const [device = '', service = ''] = pair.split(' ')
      return reachesService(scope, 'service', 'read', device, service)
    })
    expect(reached).toEqual(['A x', 'B x', 'B y'])
    expect(reachesService(scope, 'service', 'update', 'B', 'x')).toBe(false)
  })

  test('with a list of services limits no device', () => {
    expect(['A', 'B', 'C'].filter((device) => reachesDevice(scope, 'service', 'read', device))).toEqual(['A', 'B'])
  })

  test('permits an action that a grant has for any device', () => {
    expect(isPermitted(scope, 'users', 'read')).toBe(true)
    expect(isPermitted(scope, 'users', 'update')).toBe(false)
    expect(actions.every((action) => isPermitted(scope, 'meta', action))).toBe(true)
  })

  test('returns one array for equal grants', () => {
    expect(scope.reaches('service', 'update')).toBe(scope.reaches('meta', 'delete'))
    expect(scope.reaches('service', 'read')).not.toBe(scope.reaches('service', 'update'))
    expect(everything.reaches('roles', 'create')).toBe(everything.reaches('device', 'read'))
  })

  test('ignores tenants where they are not effective', () => {
    const elsewhere = scopeOf([all, { ...all, permissions: { tenants: ['read'] } }], { isTenantsEffective: false })
    for (const action of actions) {
      expect(isPermitted(elsewhere, 'tenants', action)).toBe(false)
      expect(elsewhere.isWhole('tenants', action)).toBe(false)
      for (const resource of resources) {
        if (resource !== 'tenants') expect(elsewhere.isWhole(resource, action)).toBe(true)
      }
    }
    expect(isPermitted(everything, 'tenants', 'delete')).toBe(true)
  })

  test('is unlimited by one grant, not by several together', () => {
    const parts = scopeOf([
      { permissions: { meta: ['read'] }, devices: ['*'], services: ['x'] },
      { permissions: { meta: ['read'] }, devices: ['A'], services: ['*'] },
    ])
    expect(parts.isWhole('meta', 'read')).toBe(false)
    expect(scopeOf([...parts.grants, all]).isWhole('meta', 'read')).toBe(true)
    expect(scopeOf([]).isWhole('meta', 'read')).toBe(false)
  })
})

describe('fingerprints', () => {
  const permissions: Grant['permissions'] = { service: ['read', 'update'], meta: ['read'] }
  const grant: Grant = { permissions, devices: ['A', 'B'], services: ['x'] }
  const print = (...grants: Grant[]) => scopeOf(grants).fingerprint
  const base = print(grant, all)

  test.each<[string, Grant[]]>([
    ['another order of grants', [all, grant]],
    ['a grant twice', [grant, all, grant]],
    ['another order of names', [{ ...grant, devices: ['B', 'A', 'B'] }, all]],
    ['another order of permissions', [{ ...grant, permissions: { meta: ['read'], service: ['update', 'read'] } }, all]],
    ['a resource without actions', [{ ...grant, permissions: { ...grant.permissions, users: [] } }, all]],
    ['all actions by name', [grant, { ...all, permissions: { '*': [...actions] } }]],
    ['names next to a wildcard', [grant, { ...all, devices: ['A', '*'] }]],
  ])('are the same with %s', (_, grants) => {
    expect(print(...grants)).toBe(base)
  })

  test.each<[string, Grant[]]>([
    ['another device', [{ ...grant, devices: ['A', 'C'] }, all]],
    ['one device less', [{ ...grant, devices: ['A'] }, all]],
    ['another service', [{ ...grant, services: ['y'] }, all]],
    ['another action', [{ ...grant, permissions: { ...grant.permissions, meta: ['update'] } }, all]],
    ['another resource', [{ ...grant, permissions: { service: ['read', 'update'], alarms: ['read'] } }, all]],
    ['every resource by name', [grant, { ...all, permissions: Object.fromEntries(resources.map((r) => [r, ['*']])) }]],
    ['one grant less', [all]],
    ['two grants with one name each', [{ ...grant, devices: ['A'] }, { ...grant, devices: ['B'] }, all]],
    ['names that are combined in another way', [{ ...grant, devices: ['A","B'] }, all]],
  ])('differ with %s', (_, grants) => {
    expect(print(...grants)).not.toBe(base)
  })

  test('differ where tenants are not effective', () => {
    expect(scopeOf([all], { isTenantsEffective: false }).fingerprint).not.toBe(everything.fingerprint)
  })
})

test('a check of a list equals single checks', () => {
  const devices = ['A', 'B', 'C', 'Z']
  const services = ['x', 'y', 'z']
  forAll([someGrants, fc.constantFrom(...resources), fc.constantFrom(...actions)], (grants, resource, action) => {
    const scope = scopeOf(grants)
    const isDeviceIn = devicesWithin(scope, resource, action)
    const isServiceIn = servicesWithin(scope, resource, action)
    const isIn = servicesOfDevicesWithin(scope, resource, action)
    for (const device of devices) {
      expect(isDeviceIn(device)).toBe(reachesDevice(scope, resource, action, device))
      for (const service of services) {
        expect(isIn(device, service)).toBe(reachesService(scope, resource, action, device, service))
      }
    }
    for (const service of services) {
      const isHeld = scope
        .reaches(resource, action)
        .some((reach) => reach.services === '*' || reach.services.has(service))
      expect(isServiceIn(service)).toBe(isHeld)
    }
  })
})

describe('a check of several devices', () => {
  const read = { alarms: ['read' as const] }
  const on = (devices: string[], services = ['*'], permissions: Grant['permissions'] = read): Grant => ({
    ...{ permissions, devices, services },
  })

  test.each<[string, readonly Grant[], readonly string[] | '*', string | undefined, boolean]>([
    ['all devices, within a wildcard', [on(['A']), on(['*'], [])], '*', undefined, true],
    ['no devices, with a permission', [on(['Z'])], [], undefined, true],
    ['all devices with a service', [on(['*'], ['x'])], '*', 'x', true],
    ['all devices, with some in the grants', [on(['A', 'B'])], '*', undefined, false],
    ['no devices, without a permission', [on(['A'], ['*'], { alarms: ['update'] })], [], undefined, false],
    ['all devices with another service', [on(['*'], ['y']), on(['A'], ['x'])], '*', 'x', false],
    ['no devices, without the service', [on(['A'], ['y'])], [], 'x', false],
  ])('%s', (_, grants, devices, service, isInside) => {
    expect(reachesEvery(scopeOf(grants), 'alarms', 'read', devices, service)).toBe(isInside)
  })

  test('reads a long list only once for each scope', () => {
    const devices = Array.from({ length: 1_000 }, (_, number) => `D-${number}`)
    const looks = vi.spyOn(devices, 'every')
    const scope = scopeOf([on(devices.slice(1), ['x']), on(['D-0'], ['x'])])
    const other = scopeOf([on(devices.slice(1), ['x'])])
    for (let time = 0; time < 2; time++) {
      expect(reachesEvery(scope, 'alarms', 'read', devices)).toBe(true)
      expect(reachesEvery(scope, 'alarms', 'read', devices, 'x')).toBe(true)
      expect(reachesEvery(scope, 'alarms', 'read', devices, 'y')).toBe(false)
      expect(reachesEvery(other, 'alarms', 'read', devices)).toBe(false)
    }
    expect(looks).toHaveBeenCalledTimes(2)
  })

  test('equals a check of each device', () => {
    const names = fc.constantFrom('A', 'B', 'C', 'x', 'y')
    forAll([someGrants, fc.array(names, { minLength: 1, maxLength: 4 }), names], (given, devices, service) => {
      const scope = scopeOf(given)
      expect(reachesEvery(scope, 'meta', 'read', devices)).toBe(
        devices.every((device) => reachesDevice(scope, 'meta', 'read', device)),
      )
      expect(reachesEvery(scope, 'meta', 'read', devices, service)).toBe(
        devices.every((device) => reachesService(scope, 'meta', 'read', device, service)),
      )
    })
  })
})
