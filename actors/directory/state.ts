import type { OrderedNames } from '#actors/directory/ordered-names'
import type { TwoFactorPolicy } from '#model/tenant'
import type { SecondFactor, UserState } from '#model/user'

/** All that must be compared across users or tenants: names, addresses, hosts, who holds which role. */
export interface DirectoryState {
  /** By id. */
  readonly users: Map<string, UserRow>
  /** Ids by folded name: names are taken in all tenants at once. */
  readonly byName: Map<string, string>
  /** Ids by folded e-mail address: one in each tenant at most. */
  readonly byEmail: Map<string, Set<string>>
  /** How many addresses are those of so many users, by how many that are. */
  readonly emailUse: Map<number, number>
  /** Folded names of each tenant's users, in order. */
  readonly byTenant: Map<string, OrderedNames>
  /** Who keeps a tenant from being locked out: active users with role `admin`, by tenant. */
  readonly administrators: Map<string, Set<string>>
  /** How many users hold a role, by `<tenant>/<role>`. */
  readonly roleUse: Map<string, number>
  readonly tenants: Map<string, TenantRow>
}

/** A user as others see him. */
export interface UserRow {
  readonly id: string
  readonly tenant: string
  /** As it was given. */
  readonly name: string
  readonly email: string | null
  readonly roles: readonly string[]
  readonly state: UserState
  readonly hasPassword: boolean
  readonly factors: readonly SecondFactor[]
  /** Unix ms. */
  readonly createdAt: number
  /**
   * The offset in the tenant's stream at which his roles last became others; -1 never. Null: they did, and the offset is
   * not known yet, because it is only given when the edit has left the gate. Who finds null at a start takes the last
   * offset there is.
   */
  readonly rolesSince: number | null
  /** The edit that `rolesSince` is about. */
  readonly rolesEdit: number
}

export interface TenantRow {
  readonly tenantIdentifier: string
  readonly name: string
  /** Login and token only under these, in lower case, with or without a port; everywhere when there are none. */
  readonly hosts: readonly string[]
  readonly twoFactor: TwoFactorPolicy
  readonly basic: boolean
  /** Unix ms. Of the tenant that always exists: when the first administrator came, 0 before. */
  readonly createdAt: number
  /** `deleting`: to everybody it is no more, but what it left is still being taken away. */
  readonly state: 'active' | 'deleting'
}

export function userRecord(id: string): string {
  return `user/${id}`
}

export function tenantRecord(tenant: string): string {
  return `tenant/${tenant}`
}
