import type { ActorAddress } from '#runtime/actor'

/** The tenant that always exists. Contract 2. */
export const defaultTenant = 'default'

export function tenantAddress(tenant: string): ActorAddress {
  return { kind: 'tenant', tenant, id: tenant }
}
