import type { TenantRow, UserRow } from '#actors/directory/state'
import type { StoredSigningKey } from '#actors/signing-keys/state'
import type { KeyKind, StoredRole } from '#actors/tenant/state'

/**
 * What others are told when something about identity is stored. Called as effects: after the commit, before whoever asked
 * goes on.
 *
 * Each is given what that commit holds. The actor may have gone on meanwhile, and what it holds by now may still be taken
 * back: who judges by these notices must not look there.
 */
export interface IdentityNotices {
  sessionEnded(tenant: string, session: string): void
  /** `stored` undefined: the role is no more. */
  rolesChanged(tenant: string, role: string, stored: StoredRole | undefined): void
  /** `row` undefined: the user is no more. */
  userChanged(tenant: string, user: string, row: UserRow | undefined): void
  /** `row` undefined: the tenant is no more, and all that was in it is gone. */
  tenantChanged(tenant: string, row: TenantRow | undefined): void
  keyEnded(tenant: string, key: string, kind: KeyKind): void
  signingKeysChanged(keys: readonly StoredSigningKey[]): void
  /** The key that signs is so old that another should take its place. Said again every hour until one does. */
  signingKeyIsOld(): void
}
