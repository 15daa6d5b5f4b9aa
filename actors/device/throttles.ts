import type { DeviceState } from '#actors/device/state'
import type { Stamps } from '#model/entry'

/**
 * When each throttle of a function let through last for a device, Unix ms: by `<function>/<node>`, the one of longest ago
 * first. Changed only by `apply` and `change`.
 */
export type DeviceThrottles = ReadonlyMap<string, number>

/** What most devices have: one for all of them. */
export const noThrottles: DeviceThrottles = new Map()

/** Of each device. Beyond that the one of longest ago goes: it lets through once too often. */
export const throttlesMax = 256

/** What no event tells of throttles, where no report tells it either. */
export interface Throttled {
  readonly type: 'throttled'
  readonly stamps: Stamps
  /** Those that no function has any more. */
  readonly dropped: readonly string[]
}

export function applyThrottled(state: DeviceState, { stamps, dropped }: Throttled): void {
  applyStamps(state, stamps)
  const throttles = state.throttles as Map<string, number>
  for (const key of dropped) throttles.delete(key)
  if (throttles.size === 0) state.throttles = noThrottles
}

/** In place: a fleet that is throttled does nothing else. */
export function applyStamps(state: DeviceState, stamps: Stamps): void {
  if (stamps.length === 0) return
  if (state.throttles === noThrottles) state.throttles = new Map()
  const throttles = state.throttles as Map<string, number>
  for (let at = 0; at < stamps.length; at += 2) {
    const key = stamps[at] as string
    throttles.delete(key)
    throttles.set(key, stamps[at + 1] as number)
  }
  for (const oldest of throttles.keys()) {
    if (throttles.size <= throttlesMax) return
    throttles.delete(oldest)
  }
}

/**
 * Those among a device's throttles that no function has any more. They are looked for when another comes to be kept: what
 * goes by then does not add up.
 */
export function staleAmong(
  throttles: DeviceThrottles,
  stamps: Stamps,
  isThrottle: (fn: string, node: string) => boolean,
): readonly string[] {
  const isAnother = stamps.some((key, at) => at % 2 === 0 && !throttles.has(key as string))
  if (!isAnother) return []
  return [...throttles.keys()].filter((key) => {
    const [fn = '', node = ''] = key.split('/')
    return !isThrottle(fn, node)
  })
}

export function stampsOf(throttles: DeviceThrottles): Stamps {
  return [...throttles].flat()
}

/** Undone by `stampsOf`. */
export function throttlesOf(stamps: Stamps): DeviceThrottles {
  if (stamps.length === 0) return noThrottles
  const throttles = new Map<string, number>()
  for (let at = 0; at < stamps.length; at += 2) throttles.set(stamps[at] as string, stamps[at + 1] as number)
  return throttles
}
