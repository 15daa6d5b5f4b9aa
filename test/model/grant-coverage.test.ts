import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { covers } from '#model/grant-coverage'
import { actions, everything, type Grant, grantDevicesMax, resources, scopeOf } from '#model/scope'
import { grants } from '#test/model/grants'

const on = (
  devices: string[],
  services: string[],
  permissions: Grant['permissions'] = { service: ['read'] },
): Grant => ({
  permissions,
  devices,
  services,
})
const any = ['*']

describe('beyond', () => {
  test.each<[string, Grant[], Grant[]]>([
    ['something, by nothing', [], [on(['A'], ['x'])]],
    ['another device', [on(['A'], any)], [on(['A', 'B'], any)]],
    ['any device, by all there are', [on(['A', 'B'], any)], [on(any, any)]],
    ['any service, by all there are', [on(any, ['x', 'y'])], [on(any, any)]],
    ['a corner of two grants', [on(['A'], ['x']), on(['B'], ['y'])], [on(['A', 'B'], ['x', 'y'])]],
    ['the other corner', [on(['A'], ['x', 'y']), on(['B'], ['x'])], [on(['A', 'B'], ['x', 'y'])]],
    ['any service of a device, by services of any', [on(any, ['x']), on(['B'], any)], [on(['A'], any)]],
    ['another action', [on(any, any)], [on(['A'], ['x'], { service: ['update'] })]],
    [
      'all actions, by three',
      [on(any, any, { service: ['read', 'update', 'create'] })],
      [on(any, any, { service: ['*'] })],
    ],
    ['another resource', [on(any, any)], [on(any, any, { users: ['read'] })]],
    [
      'any resource, by every one there is',
      [on(any, any, Object.fromEntries(resources.map((r) => [r, ['*']])))],
      [on(any, any, { '*': ['read'] })],
    ],
    ['the second of two grants', [on(['A'], any)], [on(['A'], any), on(['B'], any)]],
    ['devices without services: seen as a whole', [on(['B'], any)], [on(['A'], [])]],
    ['services without devices: seen as a whole', [on(any, ['y'])], [on([], ['x'])]],
    ['a grant that reaches nothing but may enter', [], [on([], [])]],
  ])('%s', (_, mine, theirs) => {
    expect(covers(scopeOf(mine), theirs)).toBe(false)
  })

  test('tenants, where they are not effective', () => {
    const elsewhere = scopeOf([on(any, any, { '*': ['*'] })], { isTenantsEffective: false })
    const tenants = [on(any, any, { tenants: ['read'] })]
    expect([covers(elsewhere, tenants), covers(everything, tenants)]).toEqual([false, true])
  })
})

/** What somebody may do, said the plain way: no products, no sets, one thing after the other. */
function mayDo(grants: readonly Grant[], resource: string, action: string, device?: string, service?: string): boolean {
  const names = (given: readonly string[], name: string | undefined) =>
    name === undefined || given.includes('*') || given.includes(name)
  return grants.some(({ permissions, devices, services }) => {
    const given = Object.entries(permissions).filter(([key]) => key === resource || key === '*')
    const isGiven = given.some(([, words]) => (words as string[]).some((word) => word === action || word === '*'))
    return isGiven && names(devices, device) && names(services, service)
  })
}

test('covers is: whatever they may do, I may do', () => {
  // What nobody names yet: a resource, a device, a service of tomorrow.
  const someResources = ['service', 'meta', 'tomorrow']
  const someDevices = [undefined, 'A', 'B', 'C', 'Z']
  const someServices = [undefined, 'x', 'y', 'z']
  const verdicts = { true: 0, false: 0 }
  fc.assert(
    fc.property(grants, grants, (mine, theirs) => {
      const isCovered = someResources.every((resource) =>
        actions.every((action) =>
          someDevices.every((device) =>
            someServices.every(
              (service) =>
                !mayDo(theirs, resource, action, device, service) || mayDo(mine, resource, action, device, service),
            ),
          ),
        ),
      )
      verdicts[`${isCovered}`]++
      expect(covers(scopeOf(mine), theirs)).toBe(isCovered)
    }),
    { numRuns: 3_000 },
  )
  // Both happen often enough to mean something.
  expect(Math.min(verdicts.true, verdicts.false)).toBeGreaterThan(200)
})

test('the largest grants are judged while nobody waits', () => {
  const names = (first: number) => Array.from({ length: grantDevicesMax }, (_, index) => `D${first + index}`)
  const services = Array.from({ length: 100 }, (_, index) => `s${index}`)
  const halves = scopeOf([on(names(0), services), on(names(grantDevicesMax), services)])
  const across = on(names(grantDevicesMax / 2), services, { '*': ['*'], service: ['*'], meta: ['read'] })
  const own = on(names(grantDevicesMax / 2), services)
  // A hundred grants, each with other permissions, devices and services.
  const places = Array.from({ length: 100 }, (_, place) => place)
  const many = places.map((place) =>
    on(
      names(place * 200).slice(0, 200),
      services.filter((_, service) => (place * service) % 7 !== 1),
      Object.fromEntries(resources.map((resource, index) => [resource, [actions[(place + index) % 4] ?? 'read']])),
    ),
  )
  const onePerPermission = on(names(0).slice(0, 2_000), services, { service: ['*'], meta: ['*'], alarms: ['*'] })
  const before = process.cpuUsage()
  expect([covers(halves, [own]), covers(halves, [across])]).toEqual([true, false])
  expect([covers(scopeOf(many), many), covers(scopeOf(many), [onePerPermission])]).toEqual([true, false])
  const whole = places.flatMap((place) =>
    actions.map((action) => on(names(place * 100).slice(0, 100), services, { service: [action] })),
  )
  expect(covers(scopeOf(whole), [on(names(0), services, { service: ['*'] })])).toBe(true)
  const { user, system } = process.cpuUsage(before)
  expect((user + system) / 1000).toBeLessThan(1_000)
})
