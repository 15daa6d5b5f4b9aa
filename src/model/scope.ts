import { createHash } from 'node:crypto'
import { z } from 'zod'
import {
  DeviceNames,
  deviceOrPrefixOf,
  type GroupOf,
  includesName,
  type Names,
  namesOf,
  prefixesIn,
  unionOf,
} from '#model/device-names'
import { GroupReference } from '#model/group'
import { serviceIdentifierOf } from '#model/identifier'
import { entriesWithin, faultBoundedArray } from '#model/json-value'
import { getOrInsert } from '#model/map-values'
import { actions, resources } from '#model/name-forms'
import { normalised } from '#model/text'

export { actions, resources }
export type Resource = (typeof resources)[number]
export type Action = (typeof actions)[number]

/** Maximum number of devices and prefixes of one grant: enough for a site; a larger set is `*` or several grants. */
export const grantDevicesMax = 10_000
export const grantServicesMax = 100

/** Maximum number of groups of one grant, as in a binding. */
const grantGroupsMax = 100

/**
 * A grant: its permissions apply only to its own devices and services. `*` means any; `PREFIX*` means devices whose
 * identifiers begin with PREFIX. `groups`: the current members of these groups count too. Contract 2, Model; contract
 * 12.
 */
export const Grant = z.strictObject({
  permissions: entriesWithin(
    z.partialRecord(
      z.union([z.enum(resources), z.literal('*')]),
      z.array(z.enum([...actions, '*'])).max(actions.length + 1),
    ),
    resources.length + 1,
  ),
  devices: namesOrAny(deviceOrPrefixOf, grantDevicesMax, 'must be *, a device identifier, or a prefix of one and *'),
  groups: z.array(GroupReference).max(grantGroupsMax).optional(),
  services: namesOrAny(serviceIdentifierOf, grantServicesMax, 'must be * or a service identifier'),
})
export type Grant = z.infer<typeof Grant>

/** The devices and services of a grant, to which its permissions apply. */
export interface Reach {
  readonly devices: Names
  readonly services: Names
}

/**
 * The permissions of a user: the union of the grants. Each grant reaches only its own devices × services, so the union
 * is a list of products and never two lists.
 */
export interface Scope {
  readonly grants: readonly Grant[]
  /** The reach of each grant, in the order of `grants`. */
  readonly reachOfGrants: readonly Reach[]
  /** Equal for scopes with the same grants in any order and spelling, and the same members of their groups. */
  readonly fingerprint: string
  /**
   * All reaches of the grants for this action on this resource; empty if there are none. The same array is returned for
   * all resources and actions of the same grants.
   */
  reaches(resource: Resource, action: Action): readonly Reach[]
  /** Whether the scope includes all of this resource, so that no single item needs a check. */
  isWhole(resource: Resource, action: Action): boolean
}

export interface ScopeOptions {
  /** False outside of tenant `default`: there the resource `tenants` gives no permission. Contract 2. */
  readonly isTenantsEffective?: boolean
  /** Default: there are no groups. */
  readonly groupOf?: GroupOf
}

export function scopeOf(
  grants: readonly Grant[],
  { isTenantsEffective = true, groupOf = () => undefined }: ScopeOptions = {},
): Scope {
  return new GrantedScope(grants, isTenantsEffective, groupOf)
}

/** Whether any grant gives this action on this resource at all: otherwise 403. Contract 1.4. */
export function isPermitted(scope: Scope, resource: Resource, action: Action): boolean {
  return scope.reaches(resource, action).length > 0
}

/** Whether the scope includes a device as a whole. */
export function reachesDevice(scope: Scope, resource: Resource, action: Action, device: string): boolean {
  return scope.reaches(resource, action).some((reach) => includesName(reach.devices, device))
}

/** Whether the scope includes a service of a device. */
export function reachesService(
  scope: Scope,
  resource: Resource,
  action: Action,
  device: string,
  service: string,
): boolean {
  return scope
    .reaches(resource, action)
    .some((reach) => includesName(reach.devices, device) && includesName(reach.services, service))
}

/**
 * Whether the scope includes each of these devices, in any grant; if a service is given, in the same grant as this
 * service. For all devices, a grant with `*` is required. An empty list only needs the permission itself.
 */
export function reachesEvery(
  scope: Scope,
  resource: Resource,
  action: Action,
  devices: readonly string[] | '*',
  service?: string,
): boolean {
  const all = scope.reaches(resource, action)
  const isGivenAlike = service === undefined || all.every((reach) => includesName(reach.services, service))
  const reaches = isGivenAlike ? all : all.filter((reach) => includesName(reach.services, service))
  if (reaches.some((reach) => reach.devices === '*')) return true
  if (reaches.length === 0 || devices === '*') return false
  if (devices.length < longList || reaches !== all)
    return devices.every((device) => reaches.some((reach) => includesName(reach.devices, device)))
  const answers = getOrInsert(known, reaches, () => new WeakMap())
  return getOrInsert(answers, devices, () => {
    const { names, prefixes } = unionOf(reaches)
    return devices.every((device) => names.has(device) || prefixes.some((prefix) => device.startsWith(prefix)))
  })
}

/**
 * Like `reachesEvery`, for several lists. A scope with `*` is not compared with the lists: they may have a million
 * names.
 */
export function reachesLists(
  scope: Scope,
  resource: Resource,
  action: Action,
  lists: readonly (readonly string[])[] | '*',
  service?: string,
): boolean {
  if (reachesEvery(scope, resource, action, '*', service)) return true
  return lists !== '*' && lists.every((devices) => reachesEvery(scope, resource, action, devices, service))
}

/**
 * For lists of at least this length the result is cached for all users with the same permissions: lists of bindings are
 * checked often.
 */
const longList = 256

/** The results by reaches, then by list. Reaches and lists are never changed in place. */
const known = new WeakMap<readonly Reach[], WeakMap<readonly string[], boolean>>()

/** Returns a check for single devices, for use in lists: everything that depends only on the scope is computed once. */
export function devicesWithin(scope: Scope, resource: Resource, action: Action): (device: string) => boolean {
  const reaches = scope.reaches(resource, action)
  if (reaches.some((reach) => reach.devices === '*')) return () => true
  return (device) => reaches.some((reach) => includesName(reach.devices, device))
}

/** Like `devicesWithin`, for services of any device. */
export function servicesWithin(scope: Scope, resource: Resource, action: Action): (service: string) => boolean {
  const reaches = scope.reaches(resource, action)
  if (reaches.some((reach) => reach.services === '*')) return () => true
  return (service) => reaches.some((reach) => includesName(reach.services, service))
}

/** Like `devicesWithin`, for services of devices. */
export function servicesOfDevicesWithin(
  scope: Scope,
  resource: Resource,
  action: Action,
): (device: string, service: string) => boolean {
  if (scope.isWhole(resource, action)) return () => true
  const reaches = scope.reaches(resource, action)
  return (device, service) =>
    reaches.some((reach) => includesName(reach.devices, device) && includesName(reach.services, service))
}

/**
 * The permissions of a grant: its resources, each with its actions. The resource `*` stays as it is; the action `*`
 * becomes all actions.
 */
export function permissionsOf(grant: Grant): readonly (readonly [resource: Resource | '*', action: Action])[] {
  return Object.entries(grant.permissions).flatMap(([resource, given = []]) =>
    actions
      .filter((action) => given.includes(action) || given.includes('*'))
      .map((action) => [resource as Resource | '*', action] as const),
  )
}

/** The devices and services of a grant. A deleted group has no members. */
export function reachOf(grant: Grant, groupOf: GroupOf): Reach {
  const services = namesOf(grant.services)
  const names = namesOf(grant.devices)
  const groups = (grant.groups ?? []).flatMap((id) => groupOf(id) ?? [])
  const prefixes = names === '*' ? [] : prefixesIn(grant.devices)
  if (names === '*' || prefixes.length + groups.length === 0) return { devices: names, services }
  return { devices: new DeviceNames(names, prefixes, groups), services }
}

class GrantedScope implements Scope {
  readonly grants: readonly Grant[]
  readonly #isTenantsEffective: boolean
  /** Shared by all resources of the grant. */
  readonly reachOfGrants: readonly Reach[]
  readonly #known = new Map<string, readonly Reach[]>()
  /** The lists of reaches, by the indexes of the grants: most resources are given by the same grants. */
  readonly #lists = new Map<string, readonly Reach[]>()
  #fingerprint: string | undefined

  constructor(grants: readonly Grant[], isTenantsEffective: boolean, groupOf: GroupOf) {
    this.grants = grants
    this.#isTenantsEffective = isTenantsEffective
    this.reachOfGrants = grants.map((grant) => reachOf(grant, groupOf))
  }

  get fingerprint(): string {
    this.#fingerprint ??= fingerprintOf(this, this.#isTenantsEffective)
    return this.#fingerprint
  }

  reaches(resource: Resource, action: Action): readonly Reach[] {
    const key = `${resource} ${action}`
    let reaches = this.#known.get(key)
    if (!reaches) {
      reaches = this.#listOf(resource, action)
      this.#known.set(key, reaches)
    }
    return reaches
  }

  isWhole(resource: Resource, action: Action): boolean {
    return this.reaches(resource, action).some(({ devices, services }) => devices === '*' && services === '*')
  }

  #listOf(resource: Resource, action: Action): readonly Reach[] {
    const isEffective = resource !== 'tenants' || this.#isTenantsEffective
    const places = [...this.grants.keys()].filter(
      (place) => isEffective && isGiven(this.grants[place] as Grant, resource, action),
    )
    const key = places.join()
    return getOrInsert(this.#lists, key, () => places.map((place) => this.reachOfGrants[place] as Reach))
  }
}

export const everything: Scope = scopeOf([{ permissions: { '*': ['*'] }, devices: ['*'], services: ['*'] }])

function isGiven(grant: Grant, resource: Resource, action: Action): boolean {
  return [grant.permissions[resource], grant.permissions['*']].some(
    (given) => given?.includes(action) || given?.includes('*'),
  )
}

function fingerprintOf({ grants, reachOfGrants }: Scope, isTenantsEffective: boolean): string {
  const normal = grants.map((grant, place) =>
    JSON.stringify([
      permissionsOf(grant)
        .map((permission) => permission.join(' '))
        .sort(),
      sorted(grant.devices),
      sorted(grant.services),
      groupEditsIn(reachOfGrants[place] as Reach),
    ]),
  )
  const text = JSON.stringify([isTenantsEffective, [...new Set(normal)].sort()])
  return createHash('sha256').update(text).digest('base64url')
}

function sorted(names: readonly string[]): readonly string[] {
  return names.includes('*') ? ['*'] : [...new Set(names)].sort()
}

function groupEditsIn({ devices }: Reach): readonly string[] {
  const groups = devices instanceof DeviceNames ? devices.groups : []
  return [...new Set(groups.map(({ id, edit }) => `${id} ${edit}`))].sort()
}

/** Names in their normal form, for exact comparison, or `*`, which exists in scopes only. Contract 1.8. */
function namesOrAny(normalOf: (name: string) => string | undefined, namesMax: number, message: string) {
  const name = normalised((text) => (text === '*' ? text : normalOf(text)), message)
  return faultBoundedArray(name).max(namesMax)
}
