import type { AccessCode } from '#actors/account/state'
import type { DirectoryState, TenantRow, UserRow } from '#actors/directory/state'
import { defaultTenant } from '#actors/tenant/state'
import type { SecondFactor } from '#model/user'
import type { ActorAddress } from '#runtime/actor'

/** Commands of the directory. */
export type DirectoryCommand =
  | AddUser
  | AddAdministrator
  | UpdateUser
  | RemoveUser
  | AccountChanged
  | RolesSettled
  | AddTenant
  | UpdateTenant
  | DeleteTenantStep

/** The fields of a new user that the directory does not set itself. */
export type NewUser = Pick<UserRow, 'id' | 'tenant' | 'name' | 'email' | 'roles'>

/** The caller has checked that the roles exist. Answered with the `UserRow`. Contract 2. */
export interface AddUser {
  readonly type: 'add_user'
  readonly user: NewUser
  readonly code: AccessCode
}

/** Contract 2, First administrator. Answered with true, or with false if the name is taken. */
export interface AddAdministrator {
  readonly type: 'add_administrator'
  readonly user: NewUser
  readonly passwordHash: string
}

/** Absent fields stay unchanged; null removes `email`. Answered with the `UserRow`. */
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

/** Sent by the account: a code was used, or a factor was turned on or off. */
export interface AccountChanged {
  readonly type: 'activated' | 'factors_changed'
  readonly user: string
  readonly factors: readonly SecondFactor[]
}

/** An edit of a user's roles has left the commit gate. */
export interface RolesSettled {
  readonly type: 'roles_settled'
  readonly user: string
  readonly edit: number
  /** The offset from which the edit is effective. */
  readonly since: number
}

/** Answered with the `TenantRow`. */
export interface AddTenant {
  readonly type: 'add_tenant'
  readonly tenant: NewTenant
  /** A request with the same `Idempotency-Key` came before and may have succeeded. */
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
 * The steps of deleting a tenant: `delete_tenant` hides it at once. Each `forget_users` removes some of its users, and
 * is answered with the number of users that are left. `tenant_swept` frees the name after all data was removed.
 */
export interface DeleteTenantStep {
  readonly type: 'delete_tenant' | 'forget_users' | 'tenant_swept'
  readonly tenant: string
}

/** There is one directory, for all tenants. */
export const directoryAddress: ActorAddress<DirectoryState, DirectoryCommand> = {
  kind: 'directory',
  tenant: defaultTenant,
  id: 'directory',
}
