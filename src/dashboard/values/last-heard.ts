import type { DeviceView } from '#client/client'

/** A device is another object after each change, so what was found of one stays true. */
const found = new WeakMap<DeviceView, number>()

/**
 * When a device last said something, Unix milliseconds, 0 for never. What is known of its link tells that only when its
 * status changes; what it reports meanwhile stands at its properties.
 */
export function lastHeard(device: DeviceView): number {
  let at = found.get(device)
  if (at === undefined) {
    at = device.lastMessage
    for (const service of device.services.values()) {
      for (const { timestamp = 0 } of service.values()) at = Math.max(at, timestamp)
    }
    found.set(device, at)
  }
  return at
}
