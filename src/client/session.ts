import type { Action, Grant, Resource } from '#model/scope'

/**
 * Who is signed in. `unknown`: nobody asked yet, see `restore`. `second factor`: the password was right, and one of
 * `methods` is wanted, or has to be set up first (`enroll`). `IAM off`: everybody may do everything, as `anonymous`.
 */
export interface Session {
  readonly state: 'unknown' | 'signed out' | 'second factor' | 'signed in' | 'IAM off'
  readonly name?: string
  readonly tenant?: string
  readonly roles?: readonly string[]
  readonly grants?: readonly Grant[]
  /** What he may do anywhere at all, `*` spelled out; empty unless signed in. A grant may reach only some devices. */
  readonly permissions: Permissions
  /** Of `second factor`. */
  readonly methods?: readonly FactorMethod[]
  /** Of `second factor`: there is none yet, and the tenant requires one. */
  readonly enroll?: boolean
  /** Of `second factor`: until then, by `client.now()`. */
  readonly expiresAt?: number
}

export type Permissions = Readonly<Partial<Record<Resource, readonly Action[]>>>

export type FactorMethod = 'totp' | 'webauthn' | 'recovery'

/** One of several tenants that know the same address and password. */
export interface TenantChoice {
  readonly tenantIdentifier: string
  readonly name: string
  readonly resourceIdentifier: string
}

export interface SignIn {
  /** An e-mail address, or a user name. */
  readonly email: string
  readonly password: string
  /** Which of several tenants, bare or as a resource name. */
  readonly tenantIdentifier?: string | undefined
  /** Default true: whoever opens the page again is still signed in. */
  readonly keep?: boolean | undefined
}

/** What signing in comes to. Several tenants that fit are an answer, no error: sign in again with one of them. */
export type SignInOutcome =
  | 'signed in'
  | { readonly secondFactor: { readonly methods: readonly FactorMethod[]; readonly enroll: boolean } }
  | { readonly tenants: readonly TenantChoice[] }

/** `webauthn`: what the browser gave for `startWebauthnAuthentication`. */
export type Factor = { readonly code: string } | { readonly recovery: string } | { readonly webauthn: object }

/** With what a change of second factors from a full session is confirmed; nothing where one just was. Contract 2. */
export interface Confirmation {
  readonly password?: string | undefined
  /** A one-time or a recovery code. */
  readonly code?: string | undefined
}

/** What `permissions` says, and when devices or services are named whether one grant reaches them together. */
export function may(
  session: Session,
  resource: Resource,
  action: Action,
  { deviceIdentifier, serviceIdentifier }: { deviceIdentifier?: string; serviceIdentifier?: string } = {},
): boolean {
  if (!session.permissions[resource]?.includes(action)) return false
  return (session.grants ?? []).some(
    (grant) =>
      gives(grant, resource, action) &&
      reaches(grant.devices, deviceIdentifier) &&
      reaches(grant.services, serviceIdentifier),
  )
}

/** Of all that grants give, `tenants` counts in tenant `default` alone. Contract 2. */
export function permissionsOf(grants: readonly Grant[], tenant: string): Permissions {
  const given: Partial<Record<Resource, readonly Action[]>> = {}
  for (const resource of resources) {
    if (resource === 'tenants' && tenant !== 'default') continue
    const may = actions.filter((action) => grants.some((grant) => gives(grant, resource, action)))
    if (may.length > 0) given[resource] = may
  }
  return given
}

function gives(grant: Grant, resource: Resource, action: Action): boolean {
  return [grant.permissions[resource], grant.permissions['*']].some(
    (given) => given?.includes(action) || given?.includes('*'),
  )
}

function reaches(names: readonly string[], name: string | undefined): boolean {
  return name === undefined || names.includes('*') || names.includes(name)
}

const actions: readonly Action[] = ['create', 'read', 'update', 'delete']

/** The model's list is beside schemas, which are not to come along. The record misses none. */
const resources = Object.keys({
  service: 0,
  device: 0,
  schemas: 0,
  meta: 0,
  alarms: 0,
  notifications: 0,
  functions: 0,
  updates: 0,
  users: 0,
  roles: 0,
  tenants: 0,
  health: 0,
} satisfies Record<Resource, 0>) as readonly Resource[]
