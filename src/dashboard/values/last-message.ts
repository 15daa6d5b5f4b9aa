import type { DeviceView } from '#client/client'

/** The result for a device stays valid, because the object is immutable. */
const times = new WeakMap<DeviceView, number>()

/**
 * The time of a device's last message, Unix milliseconds, 0 for never. `lastMessage` changes only with the status, so
 * reports in between are found by the timestamps of properties.
 */
export function lastMessageAt(device: DeviceView): number {
  let at = times.get(device)
  if (at === undefined) {
    at = device.lastMessage
    for (const service of device.services.values()) {
      for (const { timestamp = 0 } of service.values()) at = Math.max(at, timestamp)
    }
    times.set(device, at)
  }
  return at
}
