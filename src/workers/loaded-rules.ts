import { directoryAddress } from '#actors/directory/address'
import type { DirectoryState } from '#actors/directory/state'
import { defaultTenant, tenantAddress } from '#actors/tenant/address'
import type { TenantState } from '#actors/tenant/state'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import type { LoadedFunctions } from '#rules/function-views'
import type { LoadedRules } from '#rules/rule-views'
import type { System } from '#runtime/system'

/** The rules of all tenants as they are stored. Their actors stay awake. @throws Problem `storage` */
export function* loadedRules(system: System<Entry>): Iterable<LoadedRules> {
  for (const tenant of tenantsThere(system)) {
    const { alarms, groups, schemas } = tenantState(system, tenant)
    yield { tenant, alarms, groups, schemas }
  }
}

/** The same of functions and of what their mails say. @throws Problem `storage` */
export function* loadedFunctions(system: System<Entry>): Iterable<LoadedFunctions> {
  for (const tenant of tenantsThere(system)) {
    const { functions, templates, groups } = tenantState(system, tenant)
    yield { tenant, functions, templates, groups }
  }
}

/** All that are not being deleted. */
export function tenantsThere(system: System<Entry>): Iterable<string> {
  const { tenants } = system.look(directoryAddress) as DirectoryState
  const there = [...tenants.values()].filter(({ state }) => state === 'active')
  return new Set([defaultTenant, ...there.map(({ tenantIdentifier }) => tenantIdentifier)])
}

/** False for one that is being deleted: none of its actors may be asked any more. @throws Problem `storage` */
export function isTenantThere(system: System<Entry>, tenant: string): boolean {
  const { tenants } = system.look(directoryAddress) as DirectoryState
  return tenant === defaultTenant || tenants.get(tenant)?.state === 'active'
}

/** As it is now, perhaps not stored yet. The caller knows that there is such a tenant. @throws Problem `storage` */
export function tenantState(system: System<Entry>, tenant: string): TenantState {
  if (!system.isServing) throw new Problem('storage')
  return system.registry.wake(tenantAddress(tenant)).state as TenantState
}
