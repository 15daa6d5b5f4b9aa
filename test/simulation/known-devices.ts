import type { FoldedState } from '#bench/dashboard/folded-state'
import type { Grant } from '#model/scope'
import { mayRead } from '#test/simulation/reference-filter'

/** A device that shows nothing is not told to everybody who may read it. */
export function withoutEmptyDevices({ devices }: FoldedState): void {
  for (const [device, services] of devices) if (services.size === 0) devices.delete(device)
}

/** Who may read a device's services and not the device hears nothing of its end, and can't know that these are gone. */
export function withoutWhatMayBeGone(here: FoldedState, there: FoldedState, grants: readonly Grant[]): void {
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
