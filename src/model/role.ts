import { z } from 'zod'
import { ResourceIdentifier } from '#model/crn'
import { prefixesIn } from '#model/device-names'
import { ShortName } from '#model/identifier'
import { Grant, type Resource, resources } from '#model/scope'

/** Roles: named sets of permissions. Contract 2, Model. */

export const RoleName = ShortName

/** Maximum number of grants of a role: each is checked for every item of a list. */
export const roleGrantsMax = 100

/** Maximum size of a role as JSON: a role is one record, read and written whole. */
export const roleBytesMax = 256 * 1024

/**
 * Limits for all grants of a role: each prefix is compared with every device of a list, and each group has up to 10 000
 * members.
 */
const rolePrefixesMax = 100
const roleGroupsMax = 100

const Grants = z
  .strictObject({ grants: z.array(Grant).max(roleGrantsMax) })
  .refine(({ grants }) => grants.flatMap(({ devices }) => prefixesIn(devices)).length <= rolePrefixesMax, {
    path: ['grants'],
    message: `must have at most ${rolePrefixesMax} prefixes`,
  })
  .refine(({ grants }) => grants.flatMap(({ groups = [] }) => groups).length <= roleGroupsMax, {
    path: ['grants'],
    message: `must name at most ${roleGroupsMax} groups`,
  })
  .refine(({ grants }) => Buffer.byteLength(JSON.stringify(grants)) <= roleBytesMax, {
    path: ['grants'],
    message: `must be at most ${roleBytesMax} bytes`,
  })

/** The body of a role: `{grants:[…]}`, or a single grant. Both result in grants. Contract 2. */
export const RoleGrants = z.unknown().transform((body, context): { readonly grants: readonly Grant[] } => {
  const isOne = isGrantDirectly(body)
  const payload = { value: isOne ? { grants: [body] } : body, issues: [] }
  // Not `safeParse`, which makes a text for every issue: there may be thousands of issues, and only the first hundred
  // are returned.
  const { value, issues } = Grants._zod.run(payload, { async: false }) as z.core.ParsePayload<z.output<typeof Grants>>
  if (issues.length === 0) return value
  // The paths of the errors refer to the body that was sent.
  for (const issue of issues) context.issues.push(isOne ? { ...issue, path: issue.path?.slice(2) } : issue)
  return z.NEVER
})

/** A role as the API returns it. */
export const RoleEntry = z.object({
  name: RoleName,
  grants: z.array(Grant),
  /** True for a role that is built into the server and can't be changed. */
  builtIn: z.boolean(),
  resourceIdentifier: ResourceIdentifier,
})
export type RoleEntry = z.infer<typeof RoleEntry>

/**
 * The resources that every built-in role may read. Permission to manage access requires the administrator role, or an
 * explicit grant.
 */
const ordinary: readonly Resource[] = resources.filter(
  (resource) => !['users', 'roles', 'tenants', 'audit'].includes(resource),
)

/** Roles that exist in every tenant and can't be changed. Contract 2, Built-in roles. */
export const builtInRoles = {
  admin: [everywhere({ '*': ['*'] })],
  operator: [
    everywhere({
      ...readOf(ordinary),
      service: ['read', 'update'],
      meta: ['read', 'update'],
      updates: ['read', 'update'],
      alarms: ['read', 'update'],
      notifications: ['*'],
    }),
  ],
  viewer: [everywhere({ ...readOf(ordinary), notifications: ['*'] })],
} as const satisfies Readonly<Record<string, readonly Grant[]>>

export type BuiltInRole = keyof typeof builtInRoles

export function isBuiltIn(name: string): name is BuiltInRole {
  return Object.hasOwn(builtInRoles, name)
}

function everywhere(permissions: Grant['permissions']): Grant {
  return { permissions, devices: ['*'], services: ['*'] }
}

function readOf(readable: readonly Resource[]): Grant['permissions'] {
  return Object.fromEntries(readable.map((resource) => [resource, ['read']]))
}

function isGrantDirectly(body: unknown): boolean {
  if (typeof body !== 'object' || body === null || Array.isArray(body) || 'grants' in body) return false
  return ['permissions', 'devices', 'services'].some((field) => Object.hasOwn(body, field))
}
