import { hashOf, newSecret } from '#access/secret-text'
import { deviceAddress } from '#actors/device/device'
import type { DeviceState } from '#actors/device/state'
import { tenantAddress } from '#actors/tenant/address'
import type { AdmitDevice } from '#actors/tenant/commands'
import { afterGate } from '#link/after-gate'
import type { Speaker } from '#link/speaking'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import type { Activation } from '#runtime/activation'
import type { System } from '#runtime/system'

export interface Admitted {
  readonly activation: Activation<Entry>
  /** It was made just now by a provisioning key, and this is what it is known by from now on. Told once. */
  readonly secret?: string
}

/** What is heard of a device that is not admitted. */
export interface Refusing {
  /** At once: it can't be now. What came behind it must not be taken either. */
  refusing(): void
  /** Behind the gate, once. */
  refused(problem: Problem): void
}

/**
 * The device, awake; made if there is none: first contact of an allowed link. Contract 3.11. One with credentials of its
 * own was made before: when it is not there, it was removed, and they with it.
 */
export function admitted(
  system: System<Entry>,
  { tenant, device: own, key }: Speaker,
  device: string,
  refusing: Refusing,
): Admitted | undefined {
  const address = deviceAddress(tenant, device)
  const before = system.registry.wake(address)
  if (isThere(before)) return { activation: before }
  if (own !== undefined) {
    system.registry.forgetNothing(before)
    const problem = new Problem('forbidden', `${device} was removed, and its credentials with it`)
    afterGate(system, () => refusing.refused(problem))
    return undefined
  }
  const secret = key === undefined ? undefined : newSecret((byteCount) => system.world.random(byteCount))
  const admit: AdmitDevice = {
    type: 'admit_device',
    device,
    meta: {},
    ...(key !== undefined && { key }),
    ...(secret !== undefined && { secretHash: hashOf(secret) }),
  }
  // Runs at once, with the device's own turn behind it: what both say waits for one commit.
  let isMade = false
  system.turn(tenantAddress(tenant), admit, {
    answered: () => {
      if (!isMade) refusing.refused(new Problem('overloaded'))
    },
    refusing: () => refusing.refusing(),
    refused: (problem) => refusing.refused(problem),
  })
  const activation = system.registry.wake(address)
  isMade = isThere(activation)
  if (isMade) return { activation, ...(secret !== undefined && { secret }) }
  system.registry.forgetNothing(activation)
  return undefined
}

function isThere({ state }: Activation<Entry>): boolean {
  return (state as DeviceState).isThere
}
