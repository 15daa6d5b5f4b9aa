import { type DeviceState, type DeviceThrottles, noThrottles } from '#actors/device/state'
import type { Stamps } from '#model/entry'

/**
 * A throttle is a node of a function that continues at most once in a time. For each device, the times at which its
 * throttles last continued are stored, at most this many. A throttle whose time was dropped may continue too early.
 */
export const throttlesMax = 256

/** A change that is no entry: times from turns without a report that could contain them, and throttles to remove. */
export interface Throttled {
  readonly type: 'throttled'
  readonly stamps: Stamps
  /** Throttles that no longer exist in any function. */
  readonly dropped: readonly string[]
}

export function applyThrottled(state: DeviceState, { stamps, dropped }: Throttled): void {
  applyStamps(state, stamps)
  const throttles = state.throttles as Map<string, number>
  for (const key of dropped) throttles.delete(key)
  if (throttles.size === 0) state.throttles = noThrottles
}

/** Changes the map in place, because a copy in every turn would be slow for fleets with throttles. */
export function applyStamps(state: DeviceState, stamps: Stamps): void {
  if (stamps.length === 0) return
  if (state.throttles === noThrottles) state.throttles = new Map()
  const throttles = state.throttles as Map<string, number>
  for (let at = 0; at < stamps.length; at += 2) {
    const key = stamps[at] as string
    // Deleted first, so that the key moves to the end: the map is ordered by time.
    throttles.delete(key)
    throttles.set(key, stamps[at + 1] as number)
  }
  for (const oldest of throttles.keys()) {
    if (throttles.size <= throttlesMax) return
    throttles.delete(oldest)
  }
}

/**
 * The device's throttles that no longer exist in any function. Computed when a new throttle is added, so that stale
 * ones do not accumulate.
 */
export function staleThrottles(
  throttles: DeviceThrottles,
  stamps: Stamps,
  isThrottle: (fn: string, node: string) => boolean,
): readonly string[] {
  const hasNewThrottle = stamps.some((key, at) => at % 2 === 0 && !throttles.has(key as string))
  if (!hasNewThrottle) return []
  return [...throttles.keys()].filter((key) => {
    const [fn = '', node = ''] = key.split('/')
    return !isThrottle(fn, node)
  })
}

export function stampsOf(throttles: DeviceThrottles): Stamps {
  return [...throttles].flat()
}
