import type { FoldedState } from '#bench/dashboard/folded-state'
import type { Grant } from '#model/scope'
import { mayRead } from '#test/simulation/reference-filter'

/** The creation of a device without visible data is not sent to everyone who may read it. */
export function removeEmptyDevices({ devices }: FoldedState): void {
  for (const [device, services] of devices) if (services.size === 0) devices.delete(device)
}

/** A client that may read a device's services but not the device gets no event of its deletion. */
export function removeUnseenDeletions(here: FoldedState, there: FoldedState, grants: readonly Grant[]): void {
  for (const [device, services] of here.devices) {
    if (mayRead(grants, 'device', device)) continue
    const left = there.devices.get(device)
    for (const [service, properties] of services) {
      for (const propId of properties.keys()) if (!left?.get(service)?.has(propId)) properties.delete(propId)
      if (properties.size === 0) services.delete(service)
    }
    if (services.size === 0) here.devices.delete(device)
  }
}
