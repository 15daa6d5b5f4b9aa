import { describe, expect, test } from 'vitest'
import { covers, coversOn } from '#model/grant-coverage'
import { actions, everything, type Grant, grantDevicesMax, resources, scopeOf } from '#model/scope'
import { forAll } from '#test/kit/for-all'
import { grants } from '#test/model/grants'
import { mayDo } from '#test/simulation/reference-filter'

const readService: Grant['permissions'] = { service: ['read'] }
const grantOn = (devices: string[], services: string[], permissions = readService): Grant => ({
  ...{ permissions, devices, services },
})
const any = ['*']

test('covers is true if every permission of the other grants is included', () => {
  // A resource, device and service that no grant names yet.
  const someResources = ['service', 'meta', 'tomorrow']
  const someDevices = [undefined, 'A', 'B', 'C', 'Z']
  const someServices = [undefined, 'x', 'y', 'z']
  const verdicts = { true: 0, false: 0 }
  forAll([grants, grants], 800, (mine, theirs) => {
    const isCovered = someResources.every((resource) =>
      actions.every((action) =>
        someDevices.every((device) =>
          someServices.every(
            (service) =>
              !mayDo(theirs, resource, [action], device, service) || mayDo(mine, resource, [action], device, service),
          ),
        ),
      ),
    )
    verdicts[`${isCovered}`]++
    expect(covers(scopeOf(mine), theirs)).toBe(isCovered)
  })
  // Both results occur often enough.
  expect(Math.min(verdicts.true, verdicts.false)).toBeGreaterThan(50)
})

test('any resource is not covered by every present one', () => {
  const present = Object.fromEntries(resources.map((resource) => [resource, ['*']]))
  expect(covers(scopeOf([grantOn(any, any, present)]), [grantOn(any, any, { '*': ['read'] })])).toBe(false)
})

test('grants on tenants are covered only where they are effective', () => {
  const elsewhere = scopeOf([grantOn(any, any, { '*': ['*'] })], { isTenantsEffective: false })
  const tenants = [grantOn(any, any, { tenants: ['read'] })]
  expect([covers(elsewhere, tenants), covers(everything, tenants)]).toEqual([false, true])
})

test('the largest grants are compared in a short time', () => {
  const names = (first: number) => Array.from({ length: grantDevicesMax }, (_, index) => `D${first + index}`)
  const services = Array.from({ length: 100 }, (_, index) => `s${index}`)
  const halves = scopeOf([grantOn(names(0), services), grantOn(names(grantDevicesMax), services)])
  const across = grantOn(names(grantDevicesMax / 2), services, { '*': ['*'], service: ['*'], meta: ['read'] })
  const own = grantOn(names(grantDevicesMax / 2), services)
  // A hundred grants with different permissions, devices and services.
  const places = Array.from({ length: 100 }, (_, place) => place)
  const many = places.map((place) =>
    grantOn(
      names(place * 200).slice(0, 200),
      services.filter((_, service) => (place * service) % 7 !== 1),
      Object.fromEntries(resources.map((resource, index) => [resource, [actions[(place + index) % 4] ?? 'read']])),
    ),
  )
  const onePerPermission = grantOn(names(0).slice(0, 2_000), services, { service: ['*'], meta: ['*'], alarms: ['*'] })
  const before = process.cpuUsage()
  expect([covers(halves, [own]), covers(halves, [across])]).toEqual([true, false])
  expect([covers(scopeOf(many), many), covers(scopeOf(many), [onePerPermission])]).toEqual([true, false])
  const whole = places.flatMap((place) =>
    actions.map((action) => grantOn(names(place * 100).slice(0, 100), services, { service: [action] })),
  )
  expect(covers(scopeOf(whole), [grantOn(names(0), services, { service: ['*'] })])).toBe(true)
  const { user, system } = process.cpuUsage(before)
  expect((user + system) / 1000).toBeLessThan(1_000)
})

describe('prefixes and groups', () => {
  const members = new Map([
    ['G1', ['A', 'B']],
    ['G2', []],
  ])
  const scope = (...mine: Grant[]) =>
    scopeOf(mine, {
      groupOf(id) {
        const names = members.get(id)
        return names && { id, edit: 1, members: new Set(names) }
      },
    })
  const inGroups = (...groups: string[]): Grant => ({ ...grantOn([], any), groups })

  test.each<[string, boolean, Grant[], Grant]>([
    ['any device covers a prefix', true, [grantOn(any, any)], grantOn(['P-*'], any)],
    ['any device covers a group', true, [grantOn(any, any)], inGroups('G1')],
    ['a prefix covers itself', true, [grantOn(['P-*'], any)], grantOn(['P-*'], any)],
    ['a prefix covers a longer one', true, [grantOn(['P-*'], any)], grantOn(['P-1*'], any)],
    ['a prefix covers a device', true, [grantOn(['P-*'], any)], grantOn(['P-7'], any)],
    ['a prefix and a name cover both', true, [grantOn(['P-*'], any), grantOn(['A'], any)], grantOn(['A', 'P-7'], any)],
    ['a group covers itself', true, [inGroups('G1', 'G2')], inGroups('G2')],
    ['a prefix does not cover a shorter one', false, [grantOn(['P-1*'], any)], grantOn(['P-*'], any)],
    ['a prefix does not cover another device', false, [grantOn(['P-*'], any)], grantOn(['P'], any)],
    ['a device does not cover a prefix', false, [grantOn(['P-1'], any)], grantOn(['P-1*'], any)],
    ['a group does not cover another one', false, [inGroups('G1')], inGroups('G2')],
    ['its members do not cover a group', false, [grantOn(['A', 'B'], any)], inGroups('G1')],
    ['a group does not cover its members by name', false, [inGroups('G1')], grantOn(['A'], any)],
    ['a prefix of other services does not cover', false, [grantOn(['P-*'], ['x'])], grantOn(['P-7'], ['y'])],
  ])('%s', (_, isCovered, mine, theirs) => {
    expect(covers(scope(...mine), [theirs])).toBe(isCovered)
  })

  test('what a grant gives on more devices is covered by groups of which they are members', () => {
    const mine = scope(inGroups('G1'), grantOn(['P-*'], ['x']))
    expect(coversOn(mine, [inGroups('G2')], ['A', 'B'])).toBe(true)
    expect(coversOn(mine, [inGroups('G2')], ['A', 'C'])).toBe(false)
    expect(coversOn(mine, [{ ...inGroups('G2'), services: ['x'] }], ['P-1', 'A'])).toBe(true)
    expect(coversOn(mine, [{ ...inGroups('G2'), services: ['y'] }], ['P-1'])).toBe(false)
    expect(coversOn(mine, [{ ...inGroups('G2'), permissions: { service: ['update'] } }], ['A'])).toBe(false)
  })
})
