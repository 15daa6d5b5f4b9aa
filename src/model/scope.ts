import { z } from 'zod'

/** What access is given on. Contract 2. */
export const resources = [
  'service',
  'device',
  'schemas',
  'meta',
  'alarms',
  'notifications',
  'functions',
  'updates',
  'users',
  'roles',
  'tenants',
  'health',
] as const
export type Resource = (typeof resources)[number]

export const actions = ['create', 'read', 'update', 'delete'] as const
export type Action = (typeof actions)[number]

/** A grant: its permissions reach only its own devices and services. `*` stands for any. Contract 2, Model. */
export const Grant = z.strictObject({
  permissions: z.partialRecord(
    z.union([z.enum(resources), z.literal('*')]),
    z.array(z.union([z.enum(actions), z.literal('*')])),
  ),
  devices: z.array(z.string()),
  services: z.array(z.string()),
})
export type Grant = z.infer<typeof Grant>

/** Names, or all of them. */
export type Names = ReadonlySet<string> | '*'

/** One grant, seen for one resource and action: the devices and services it reaches together. */
export interface Reach {
  readonly devices: Names
  readonly services: Names
}

/**
 * What somebody may do: the union of his grants. Each grant reaches only its own devices × services, so the union is a
 * list of products and never two lists.
 */
export interface Scope {
  readonly grants: readonly Grant[]
  /** Every reach that the grants give for this action on this resource; empty when none does. */
  reaches(resource: Resource, action: Action): readonly Reach[]
}

export function scopeOf(grants: readonly Grant[]): Scope {
  const known = new Map<string, readonly Reach[]>()
  return {
    grants,
    reaches(resource, action) {
      const key = `${resource} ${action}`
      const before = known.get(key)
      if (before) return before
      const reaches = grants.filter((grant) => isGiven(grant, resource, action)).map(reachOf)
      known.set(key, reaches)
      return reaches
    },
  }
}

/** Whether any grant gives this action on this resource at all: otherwise 403. Contract 1.4. */
export function isPermitted(scope: Scope, resource: Resource, action: Action): boolean {
  return scope.reaches(resource, action).length > 0
}

/** Whether a device lies inside, for what concerns the device as a whole. */
export function reachesDevice(scope: Scope, resource: Resource, action: Action, device: string): boolean {
  return scope.reaches(resource, action).some((reach) => holds(reach.devices, device))
}

/** Whether a service of a device lies inside. */
export function reachesService(
  scope: Scope,
  resource: Resource,
  action: Action,
  device: string,
  service: string,
): boolean {
  return scope.reaches(resource, action).some((reach) => holds(reach.devices, device) && holds(reach.services, service))
}

export function holds(names: Names, name: string): boolean {
  return names === '*' || names.has(name)
}

/** The scope of who may do everything. */
export const everything: Scope = scopeOf([{ permissions: { '*': ['*'] }, devices: ['*'], services: ['*'] }])

function isGiven(grant: Grant, resource: Resource, action: Action): boolean {
  return [grant.permissions[resource], grant.permissions['*']].some(
    (given) => given?.includes(action) || given?.includes('*'),
  )
}

function reachOf(grant: Grant): Reach {
  return { devices: namesOf(grant.devices), services: namesOf(grant.services) }
}

function namesOf(names: readonly string[]): Names {
  return names.includes('*') ? '*' : new Set(names)
}
