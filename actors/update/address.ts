import type { ActorAddress } from '#runtime/actor'

/** The update of a device: at most one at a time. */
export function updateAddress(tenant: string, device: string): ActorAddress {
  return { kind: 'update', tenant, id: device }
}

/** Devices with an update under way: entries `<deviceIdentifier>`. */
export const updatingIndex = 'updating'
