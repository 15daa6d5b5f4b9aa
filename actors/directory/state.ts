import type { AccessCode } from '#actors/account/state'
import type { OrderedNames } from '#actors/directory/ordered-names'
import { defaultTenant } from '#actors/tenant/state'
import type { TwoFactorPolicy } from '#model/tenant'
import type { SecondFactor, UserState } from '#model/user'
import type { ActorAddress, CommandOf } from '#runtime/actor'

/**
 * Everything that must be compared across users or tenants: names, e-mail addresses, hosts, and the users of each role.
 */
export interface DirectoryState {
  /** By id. */
  readonly users: Map<string, UserRow>
  /** Ids by folded name: names are unique across all tenants. */
  readonly byName: Map<string, string>
  /** Ids by folded e-mail address, of all tenants. An address is unique within a tenant. */
  readonly byEmail: Map<string, Set<string>>
  /** Number of e-mail addresses, by the number of users that an address has. */
  readonly emailUse: Map<number, number>
  /** Folded names of each tenant's users, in order. */
  readonly byTenant: Map<string, OrderedNames>
  /** Active users with role `admin`, by tenant. Without one, a tenant would be locked out. */
  readonly administrators: Map<string, Set<string>>
  /** Number of users with a role, by `<tenant>/<role>`. */
  readonly roleUse: Map<string, number>
  readonly tenants: Map<string, TenantRow>
}

/** The public data of a user. */
export interface UserRow {
  readonly id: string
  readonly tenant: string
  /** As entered. */
  readonly name: string
  readonly email: string | null
  readonly roles: readonly string[]
  readonly state: UserState
  readonly hasPassword: boolean
  readonly factors: readonly SecondFactor[]
  /** Unix ms. */
  readonly createdAt: number
  /**
   * The offset in the tenant's stream from which the user's current roles are effective; -1: always. Null: the roles
   * have changed, and the offset is only known after the commit. After a restart, null means the last offset of the
   * stream.
   */
  readonly rolesSince: number | null
  /** The edit to which `rolesSince` belongs. */
  readonly rolesEdit: number
}

export interface TenantRow {
  readonly tenantIdentifier: string
  readonly name: string
  /**
   * Sign-in and token requests are only accepted under these hosts, in lower case, with or without a port. Empty: under
   * all hosts.
   */
  readonly hosts: readonly string[]
  readonly twoFactor: TwoFactorPolicy
  readonly basic: boolean
  /** Unix ms. For the default tenant: when the first administrator was created, 0 before. */
  readonly createdAt: number
  /** `deleting`: invisible to all, while its data is being removed. */
  readonly state: 'active' | 'deleting'
}

export function userRecord(id: string): string {
  return `user/${id}`
}

export function tenantRecord(tenant: string): string {
  return `tenant/${tenant}`
}

/** Commands of the directory. */
export interface DirectoryCommands {
  /** The caller has checked that the roles exist. Answered with the `UserRow`. Contract 2. */
  add_user: {
    readonly user: NewUser
    readonly code: AccessCode
  }
  /** Contract 2, First administrator. Answered with true, or with false if the name is taken. */
  add_administrator: {
    readonly user: NewUser
    readonly passwordHash: string
  }
  /** Absent fields stay unchanged; null removes `email`. Answered with the `UserRow`. */
  update_user: {
    readonly user: string
    readonly email?: string | null
    readonly roles?: readonly string[]
    readonly state?: 'active' | 'disabled'
  }
  remove_user: { readonly user: string }
  /** Sent by the account: a code was used, or a factor was turned on or off. */
  activated: {
    readonly user: string
    readonly factors: readonly SecondFactor[]
  }
  factors_changed: {
    readonly user: string
    readonly factors: readonly SecondFactor[]
  }
  /** An edit of a user's roles has left the commit gate. */
  roles_settled: {
    readonly user: string
    readonly edit: number
    /** The offset from which the edit is effective. */
    readonly since: number
  }
  /** Answered with the `TenantRow`. */
  add_tenant: {
    readonly tenant: NewTenant
    /** A request with the same `Idempotency-Key` came before and may have succeeded. */
    readonly isRepeated?: boolean
  }
  /** Answered with the `TenantRow`. */
  update_tenant: {
    readonly tenant: string
    readonly change: Partial<Omit<NewTenant, 'tenantIdentifier'>>
  }
  /**
   * The steps of deleting a tenant: `delete_tenant` hides it at once. Each `forget_users` removes some of its users, and
   * is answered with the number of users that are left. `tenant_swept` frees the name after all data was removed.
   */
  delete_tenant: { readonly tenant: string }
  forget_users: { readonly tenant: string }
  tenant_swept: { readonly tenant: string }
}

export type DirectoryCommand = CommandOf<DirectoryCommands>

/** The fields of a new user that the directory does not set itself. */
export type NewUser = Pick<UserRow, 'id' | 'tenant' | 'name' | 'email' | 'roles'>

export type NewTenant = Omit<TenantRow, 'createdAt' | 'state'>

/** There is one directory, for all tenants. */
export const directoryAddress: ActorAddress<DirectoryState, DirectoryCommand> = {
  kind: 'directory',
  tenant: defaultTenant,
  id: 'directory',
}
