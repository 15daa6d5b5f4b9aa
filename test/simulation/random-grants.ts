import type { SeededRandom } from '#bench/random'
import type { Action, Grant, Resource } from '#model/scope'

/** A built-in role, which cannot be changed. Contract 2, Built-in roles. */
export const viewer: Grant = {
  permissions: {
    service: ['read'],
    device: ['read'],
    schemas: ['read'],
    meta: ['read'],
    alarms: ['read'],
    functions: ['read'],
    updates: ['read'],
    health: ['read'],
    notifications: ['*'],
  },
  devices: ['*'],
  services: ['*'],
}

/** A role with one grant, which names a group of the same name. */
export const roleByGroup = 'members'

/** The grants of `roleByGroup` while the group has these members, whose names stand in place of the group. */
export function grantsOfMembers(devices: readonly string[]): readonly Grant[] {
  const permissions: Grant['permissions'] = { service: ['read'], device: ['read'], meta: ['read'], alarms: ['read'] }
  return [{ permissions, devices: [...devices].sort(), services: ['*'] }]
}

/** Up to three grants, each with its own devices and services; now and then one grant, only to read roles. */
export function randomGrants(random: SeededRandom, devices: readonly string[]): readonly Grant[] {
  if (random.next() < 0.1) return [{ permissions: { roles: ['read'] }, devices: ['*'], services: ['*'] }]
  const some = (names: readonly string[]) => (random.next() < 0.3 ? ['*'] : names.filter(() => random.next() < 0.5))
  const someDevices = () => (random.next() < 0.1 ? [`${devices[random.below(devices.length)]}*`] : some(devices))
  return Array.from({ length: 1 + random.below(3) }, () => ({
    permissions: randomPermissions(random),
    devices: someDevices(),
    services: some(['counter', 'climate', 'pump', 'heater']),
  }))
}

/** Mostly permissions that a client needs to follow devices: their list and their reports. */
function randomPermissions(random: SeededRandom): Grant['permissions'] {
  const pick = <T>(from: readonly T[]): T => from[random.below(from.length)] as T
  const tried = random.next()
  if (tried < 0.15) return { '*': ['read'] }
  if (tried < 0.2) return { '*': ['*'] }
  if (tried < 0.75) {
    const alarms: Action[] = random.next() < 0.4 ? ['read', 'create', 'update'] : ['read']
    const functions: Action[] = random.next() < 0.2 ? ['read', 'create', 'update'] : ['read']
    const notifications = [pick<Action | '*'>(['*', '*', 'read', 'create'])]
    const more = {
      ...(random.next() < 0.4 && { meta: ['*' as const] }),
      ...(random.next() < 0.7 && { alarms }),
      ...(random.next() < 0.8 && { functions, notifications }),
    }
    const service: Action[] = random.next() < 0.3 ? ['read', 'update'] : ['read']
    return { service, device: ['read'], ...more }
  }
  const names = 'service device meta schemas updates roles alarms functions notifications'
  const resources = names.split(' ') as Resource[]
  const actions: readonly (Action | '*')[] = ['read', 'read', 'read', 'update', '*']
  const given = resources.filter(() => random.next() < 0.4)
  return Object.fromEntries(given.map((resource) => [resource, [pick(actions)]]))
}
