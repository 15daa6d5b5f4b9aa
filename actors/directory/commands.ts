import type { AccessCode } from '#actors/account/state'
import type { TenantRow, UserRow } from '#actors/directory/state'
import type { SecondFactor } from '#model/user'

/** What the directory can be asked or told. */
export type DirectoryCommand =
  | AddUser
  | AddAdministrator
  | UpdateUser
  | RemoveUser
  | AccountChanged
  | RolesSettled
  | AddTenant
  | UpdateTenant
  | ChangeTenant

/** What is given of a new user; the rest follows. `id`: made by the server. */
export type NewUser = Pick<UserRow, 'id' | 'tenant' | 'name' | 'email' | 'roles'>

/** The asker has looked that there are such roles. Answered with the `UserRow`. Contract 2. */
export interface AddUser {
  readonly type: 'add_user'
  readonly user: NewUser
  readonly code: AccessCode
}

/** Contract 2, First administrator. Answered with whether the name was free. */
export interface AddAdministrator {
  readonly type: 'add_administrator'
  readonly user: NewUser
  readonly passwordHash: string
}

/** What is absent stays. `email` null: has none any more. Answered with the `UserRow`. */
export interface UpdateUser {
  readonly type: 'update_user'
  readonly user: string
  readonly email?: string | null
  readonly roles?: readonly string[]
  readonly state?: 'active' | 'disabled'
}

export interface RemoveUser {
  readonly type: 'remove_user'
  readonly user: string
}

/** Told by the account: a code was used, or a factor turned on or off. */
export interface AccountChanged {
  readonly type: 'activated' | 'factors_changed'
  readonly user: string
  readonly factors: readonly SecondFactor[]
}

/** From which offset on an edit of a user's roles holds, now that it has left the gate. */
export interface RolesSettled {
  readonly type: 'roles_settled'
  readonly user: string
  readonly edit: number
  readonly since: number
}

/** Answered with the `TenantRow`. */
export interface AddTenant {
  readonly type: 'add_tenant'
  readonly tenant: NewTenant
  /** Asked before under the same `Idempotency-Key`, and perhaps done. */
  readonly isRepeated?: boolean
}

export type NewTenant = Omit<TenantRow, 'createdAt' | 'state'>

/** Answered with the `TenantRow`. */
export interface UpdateTenant {
  readonly type: 'update_tenant'
  readonly tenant: string
  readonly change: Partial<Omit<NewTenant, 'tenantIdentifier'>>
}

/**
 * How a tenant goes: `delete_tenant` at once to everybody; `forget_users`, some with each turn, answered with how many are
 * left; `tenant_swept` when nothing is left of it at all: then its name is free.
 */
export interface ChangeTenant {
  readonly type: 'delete_tenant' | 'forget_users' | 'tenant_swept'
  readonly tenant: string
}
