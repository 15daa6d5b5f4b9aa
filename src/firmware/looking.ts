import { deviceAddress } from '#actors/device/device'
import type { DeviceState } from '#actors/device/state'
import { updateAddress } from '#actors/update/address'
import type { StoredUpdate } from '#actors/update/state'
import type { Entry } from '#model/entry'
import type { System } from '#runtime/system'

/** Both as they are now, perhaps not stored yet, without waking anybody; undefined when there is none, or nothing can be read. */

export function deviceNow(system: System<Entry>, tenant: string, device: string): DeviceState | undefined {
  if (!system.isServing) return undefined
  const state = system.look(deviceAddress(tenant, device)) as DeviceState
  return state.isThere ? state : undefined
}

export function updateNow(system: System<Entry>, tenant: string, device: string): StoredUpdate | undefined {
  if (!system.isServing) return undefined
  return system.recordOf(updateAddress(tenant, device), 'update') as StoredUpdate | undefined
}
