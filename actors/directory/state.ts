import type { OrderedNames } from '#actors/directory/ordered-names'
import type { TwoFactorPolicy } from '#model/tenant'
import type { SecondFactor, UserState } from '#model/user'

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
