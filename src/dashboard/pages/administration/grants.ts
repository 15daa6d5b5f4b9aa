import { type GroupOption, groupOf } from '#dashboard/binding/binding'
import { countText } from '#dashboard/values/format-value'
import type { Action, Grant, Resource } from '#model/scope'

/** A grant in the editor: for each resource, its level or its single actions. Contract 2, Model. */

const actionSet = { read: true, create: true, update: true, delete: true } as const satisfies Record<Action, true>

export type NameOrAll<Name extends string> = Name | '*'

const resourceMeanings = {
  '*': 'all resources below, and those of later versions',
  service: 'values of devices, and writes to them',
  device: 'creating and deleting devices, their secrets, provisioning keys',
  schemas: 'names, units and types of properties',
  meta: 'metadata of devices',
  alarms: 'alarms and their status',
  notifications: 'the user’s own subscriptions',
  functions: 'functions, groups and templates',
  updates: 'firmware: releases, pins, rollouts, updates',
  users: 'users, their sessions, API keys',
  roles: 'permissions of users',
  tenants: 'tenants; effective in tenant default only',
  health: 'metrics of the server',
  audit: 'changes and sign-ins of all users and keys',
} as const satisfies Record<NameOrAll<Resource>, string>

/** The rows of the form: one for any resource, and one for each resource. */
export const resourceRows = Object.entries(resourceMeanings).map(([resource, meaning]) => ({
  resource: resource as NameOrAll<Resource>,
  name: resource === '*' ? 'any resource' : resource,
  meaning,
}))

export const singleActions = Object.keys(actionSet) as readonly Action[]

/** The most frequent sets of actions. For other sets, users choose single actions. */
export const levels = {
  none: [],
  read: ['read'],
  'read and update': ['read', 'update'],
  everything: ['*'],
} as const satisfies Record<string, readonly NameOrAll<Action>[]>

export type AccessLevel = keyof typeof levels

/** Undefined for another set of actions. */
export function levelOf({ permissions }: Grant, resource: NameOrAll<Resource>): AccessLevel | undefined {
  const given = permissions[resource] ?? []
  const isSame = (actions: readonly string[]) =>
    actions.length === given.length && given.every((action) => actions.includes(action))
  return (Object.keys(levels) as AccessLevel[]).find((level) => isSame(levels[level]))
}

export function withActions(grant: Grant, resource: NameOrAll<Resource>, actions: readonly NameOrAll<Action>[]): Grant {
  const { [resource]: _, ...others } = grant.permissions
  return { ...grant, permissions: actions.length > 0 ? { ...others, [resource]: [...actions] } : others }
}

export function namedActions({ permissions }: Grant, resource: NameOrAll<Resource>): readonly Action[] {
  const named = permissions[resource] ?? []
  return singleActions.filter((action) => named.includes('*') || named.includes(action))
}

export function withToggledAction(grant: Grant, resource: NameOrAll<Resource>, action: Action): Grant {
  const before = namedActions(grant, resource)
  const isOn = before.includes(action)
  return withActions(grant, resource, isOn ? before.filter((one) => one !== action) : [...before, action])
}

/** A new grant: permission to read the values, schemas and metadata of all devices. */
export const firstGrant: Grant = {
  permissions: { service: ['read'], schemas: ['read'], meta: ['read'] },
  devices: ['*'],
  services: ['*'],
}

/** `service: read, update · meta: read` */
function permissionsText({ permissions }: Grant): string {
  const rows = Object.entries(permissions).filter(([, given]) => (given?.length ?? 0) > 0)
  if (rows.length === 0) return 'nothing'
  return rows
    .map(([resource, given = []]) => {
      const what = given.includes('*') ? 'everything' : given.join(', ')
      return resource === '*' ? `${what} on any resource` : `${resource}: ${what}`
    })
    .join(' · ')
}

/** `all devices`, or the names; long lists are shortened. */
function namesText(names: readonly string[], what: string): string {
  if (names.includes('*')) return `all ${what}s`
  if (names.length === 0) return `no ${what}`
  const shown = names.slice(0, 3).join(', ')
  return names.length > 3 ? `${shown} and ${names.length - 3} more ${what}s` : shown
}

/** The devices of a grant: those by name, and the number of groups. */
function devicesText({ devices, groups = [] }: Grant): string {
  if (groups.length === 0 || devices.includes('*')) return namesText(devices, 'device')
  const members = `the devices of ${countText(groups.length, 'group')}`
  return devices.length === 0 ? members : `${namesText(devices, 'device')}, ${members}`
}

/** A grant in words: its permissions, devices and services. */
export function grantText(grant: Grant): string {
  return `${permissionsText(grant)} — on ${devicesText(grant)}, ${namesText(grant.services, 'service')}`
}

export function withGroups({ groups: _, ...grant }: Grant, groups: readonly string[]): Grant {
  return groups.length > 0 ? { ...grant, groups: [...groups] } : grant
}

/** Parses names, separated by lines or commas; each once. The identifier of a device may contain a space. */
export function parseNames(text: string): string[] {
  const names = text.split(/[\n,]/).map((name) => name.trim())
  return [...new Set(names.filter((name) => name !== ''))]
}

/** Whether the grant permits nothing, or covers no device and no service. */
export function isEmptyGrant({ permissions, devices, groups = [], services }: Grant): boolean {
  const hasPermission = Object.values(permissions).some((given) => (given?.length ?? 0) > 0)
  return !hasPermission || (devices.length + groups.length === 0 && services.length === 0)
}

/** More names do not fit into a filter. */
const namesMax = 300

/** A filter that finds the devices of a grant; undefined if a group is not visible, or if there are too many names. */
export function deviceFilterOf(
  { devices, groups = [] }: Grant,
  known: readonly GroupOption[],
): object | true | undefined {
  if (devices.includes('*')) return true
  const members = groups.map((id) => groupOf(id, known)?.devices)
  if (members.includes(undefined)) return undefined
  const names = [...devices.filter((name) => !name.endsWith('*')), ...members.flatMap((each) => each ?? [])]
  if (names.length > namesMax) return undefined
  const device = { var: 'deviceIdentifier' }
  const prefixes = devices.filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1).toUpperCase())
  return {
    or: [
      { in: [device, names.map((name) => name.toUpperCase())] },
      // Identifiers are ASCII, and none contains a character after the tilde.
      ...prefixes.map((prefix) => ({ and: [{ '>=': [device, prefix] }, { '<=': [device, `${prefix}~`] }] })),
    ],
  }
}
