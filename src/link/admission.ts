import { deviceAddress } from '#actors/device/device'
import type { DeviceState } from '#actors/device/state'
import { tenantAddress } from '#actors/tenant/address'
import type { Entry } from '#model/entry'
import type { Problem } from '#model/problem'
import type { Activation } from '#runtime/activation'
import type { System } from '#runtime/system'

/**
 * The device, awake; made if there is none: first contact of an allowed link. Contract 3.11. It is still not there when
 * the tenant refused, which is told, or has its hands full.
 */
export function admitted(
  system: System<Entry>,
  tenant: string,
  device: string,
  refused: (problem: Problem) => void,
): Activation<Entry> {
  const activation = system.registry.wake(deviceAddress(tenant, device))
  if ((activation.state as DeviceState).isThere) return activation
  // Runs at once, with the device's own turn behind it: what both say waits for one commit.
  system.turn(tenantAddress(tenant), { type: 'admit_device', device, meta: {} }, { answered: () => {}, refused })
  return system.registry.wake(deviceAddress(tenant, device))
}
