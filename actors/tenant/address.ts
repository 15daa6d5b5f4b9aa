import type { TenantCommand } from '#actors/tenant/commands'
import type { TenantState } from '#actors/tenant/state'
import type { ActorAddress } from '#runtime/actor'

/** The tenant that always exists. Contract 2. */
export const defaultTenant = 'default'

/** Deleted functions that still have subscriptions: entries `<functionId>`. */
export const endingIndex = 'ending'

export function tenantAddress(tenant: string): ActorAddress<TenantState, TenantCommand> {
  return { kind: 'tenant', tenant, id: tenant }
}
