import type { TenantRow, UserRow } from '#actors/directory/state'
import type { StoredSigningKey } from '#actors/signing-keys/state'
import type { KeyKind, StoredRole } from '#actors/tenant/state'

/**
 * Notices about stored changes of users, sessions, keys and roles. Called as effects: after the commit, before the
 * caller continues.
 *
 * Each notice contains the committed values. The actor may have uncommitted newer values, so listeners must not read
 * the actor.
 */
export interface IdentityNotices {
  sessionEnded(tenant: string, session: string): void
  /** `stored` undefined: the role was deleted. */
  rolesChanged(tenant: string, role: string, stored: StoredRole | undefined): void
  /** `row` undefined: the user was deleted. */
  userChanged(tenant: string, user: string, row: UserRow | undefined): void
  /** `row` undefined: the tenant was deleted with all of its data. */
  tenantChanged(tenant: string, row: TenantRow | undefined): void
  keyEnded(tenant: string, key: string, kind: KeyKind): void
  signingKeysChanged(keys: readonly StoredSigningKey[]): void
  /** The signing key is old and should be replaced. Repeated every hour until it is. */
  signingKeyIsOld(): void
}
