import { deviceAddress } from '#actors/device/device'
import type { DeviceState } from '#actors/device/state'
import { directoryAddress } from '#actors/directory/address'
import { rowByName } from '#actors/directory/queries'
import type { DirectoryState, UserRow } from '#actors/directory/state'
import { defaultTenant, tenantAddress } from '#actors/tenant/address'
import type { TenantState } from '#actors/tenant/state'
import { Problem } from '#model/problem'
import type { RouteContext } from '#routes/context'

/** A device as it is now, or undefined when there is none. Does not wake it. */
export function lookAtDevice({ system }: RouteContext, tenant: string, device: string): DeviceState | undefined {
  const state = system.look(deviceAddress(tenant, device)) as DeviceState
  return state.isThere ? state : undefined
}

/** @throws Problem 404 when there is none. */
export function deviceThere(context: RouteContext, tenant: string, device: string): DeviceState {
  const state = lookAtDevice(context, tenant, device)
  if (!state) throw new Problem('not_found')
  return state
}

/** A tenant as it is now. It is kept awake: every read needs its schemas. */
export function lookAtTenant({ system }: RouteContext, tenant: string): TenantState {
  if (!system.isServing) throw new Problem('storage')
  return system.registry.wake(tenantAddress(tenant)).state as TenantState
}

/** False for one that is being deleted: none of its actors may be asked any more. */
export function isTenantThere(context: RouteContext, tenant: string): boolean {
  return tenant === defaultTenant || lookAtDirectory(context).tenants.get(tenant)?.state === 'active'
}

/** Who there is, in all tenants, as it is now. It is kept awake as well. */
export function lookAtDirectory({ system }: RouteContext): DirectoryState {
  if (!system.isServing) throw new Problem('storage')
  return system.registry.wake(directoryAddress).state as DirectoryState
}

/** A user of this tenant, whatever case his name is written in. @throws Problem 404 when there is none. */
export function userThere(context: RouteContext, tenant: string, name: string): UserRow {
  const row = rowByName(lookAtDirectory(context), name)
  if (row?.tenant !== tenant) throw new Problem('not_found')
  return row
}
