import { actions, resources } from '#model/name-forms'
import type { Action, Grant, Resource } from '#model/scope'

/**
 * The user's session. `unknown`: not read yet, see `restore`. `second factor`: the password was right, and one of
 * `methods` is required, or must be set up first (`enroll`). `IAM off`: all requests are permitted, as user
 * `anonymous`.
 */
export interface Session {
  readonly state: 'unknown' | 'signed out' | 'second factor' | 'signed in' | 'IAM off'
  readonly name?: string
  readonly tenant?: string
  readonly roles?: readonly string[]
  readonly grants?: readonly Grant[]
  /**
   * The permissions of all grants, with `*` expanded, although a grant may cover only some devices: see `may`. Empty
   * unless a user is signed in or authentication is off.
   */
  readonly permissions: Permissions
  /** For `second factor`. */
  readonly methods?: readonly FactorMethod[]
  /** For `second factor`: the tenant requires a second factor, and the user has none yet. */
  readonly enroll?: boolean
  /** For `second factor`: when the sign-in expires, by `client.now()`. */
  readonly expiresAt?: number
}

export type Permissions = Readonly<Partial<Record<Resource, readonly Action[]>>>

export type FactorMethod = 'totp' | 'webauthn' | 'recovery'

/** One of several tenants in which the same mail address and password are valid. */
export interface TenantChoice {
  readonly tenantIdentifier: string
  readonly name: string
  readonly resourceIdentifier: string
}

export interface SignIn {
  /** An e-mail address, or a user name. */
  readonly email: string
  readonly password: string
  /** The tenant, if several match: its id or its resource name. */
  readonly tenantIdentifier?: string | undefined
  /** Default true: the session is stored, and continues when the page is opened again. */
  readonly keep?: boolean | undefined
}

/** The result of a sign-in. If several tenants match, sign in again with one of the tenants. */
export type SignInOutcome =
  | 'signed in'
  | { readonly secondFactor: { readonly methods: readonly FactorMethod[]; readonly enroll: boolean } }
  | { readonly tenants: readonly TenantChoice[] }

/** `webauthn`: the browser's response to `startWebauthnAuthentication`. */
export type Factor = { readonly code: string } | { readonly recovery: string } | { readonly webauthn: object }

/** Confirms a change of second factors in a full session; not needed directly after a confirmation. Contract 2. */
export interface Confirmation {
  readonly password?: string | undefined
  /** A one-time or a recovery code. */
  readonly code?: string | undefined
}

/**
 * Whether the session has a permission; with a device or a service, whether one grant of the permission covers both.
 */
export function may(
  session: Session,
  resource: Resource,
  action: Action,
  { deviceIdentifier, serviceIdentifier }: { deviceIdentifier?: string; serviceIdentifier?: string } = {},
): boolean {
  if (!session.permissions[resource]?.includes(action)) return false
  return (session.grants ?? []).some(
    (grant) =>
      permits(grant, resource, action) &&
      covers(grant.devices, deviceIdentifier) &&
      covers(grant.services, serviceIdentifier),
  )
}

/** The permissions of all grants; `tenants` counts only in tenant `default`. Contract 2. */
export function permissionsOf(grants: readonly Grant[], tenant: string): Permissions {
  const given: Partial<Record<Resource, readonly Action[]>> = {}
  for (const resource of resources) {
    if (resource === 'tenants' && tenant !== 'default') continue
    const may = actions.filter((action) => grants.some((grant) => permits(grant, resource, action)))
    if (may.length > 0) given[resource] = may
  }
  return given
}

function permits(grant: Grant, resource: Resource, action: Action): boolean {
  return [grant.permissions[resource], grant.permissions['*']].some(
    (given) => given?.includes(action) || given?.includes('*'),
  )
}

function covers(names: readonly string[], name: string | undefined): boolean {
  return name === undefined || names.includes('*') || names.includes(name)
}
