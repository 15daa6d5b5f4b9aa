import type { UpdateCommand } from '#actors/update/commands'
import type { UpdateActorState } from '#actors/update/state'
import type { ActorAddress } from '#runtime/actor'

/** The update of a device: at most one at a time. */
export function updateAddress(tenant: string, device: string): ActorAddress<UpdateActorState, UpdateCommand> {
  return { kind: 'update', tenant, id: device }
}

/** Devices with a running update: entries `<deviceIdentifier>`. */
export const updatingIndex = 'updating'
