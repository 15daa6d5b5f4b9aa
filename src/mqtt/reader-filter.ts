import type { EventFilter } from '#events/audience'
import { isMatchingLevels } from '#mqtt/topic'

/**
 * A kind of topics for people and programs: events, values (`state`), or the status of devices (`meta`). Contract 10.
 */
export type ReaderKind = 'events' | 'state' | 'meta'

const pattern = /^v1\/(events|state|meta)\//

export function readerKindOf(filter: string): ReaderKind | undefined {
  return pattern.exec(filter)?.[1] as ReaderKind | undefined
}

/** The level in place of a device or a service that an event does not have. */
export const absentLevel = '~'

/** A name as one level of a topic. */
export function levelOf(name: string): string {
  return name.replace(/[/+#%]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** The inverse of `levelOf`. Undefined if the level is not percent-encoded correctly. */
export function nameOfLevel(level: string): string | undefined {
  try {
    return decodeURIComponent(level)
  } catch {
    return undefined
  }
}

/** The device that the filter names. Undefined if the filter can match several devices, or no device. */
export function deviceOfFilter(filter: string): string | undefined {
  const level = filter.split('/')[2] ?? ''
  return level === '+' || level === '#' || level === absentLevel ? undefined : nameOfLevel(level)
}

/** The events that these filters need. */
export function eventFilterOf(filters: readonly string[]): EventFilter {
  const kinds = new Set(filters.map(readerKindOf))
  const devices = filters.map(deviceOfFilter)
  const hasDevices = devices.every((device) => device !== undefined)
  const types = [
    ...(kinds.has('state') ? (['OBJECT_UPDATED'] as const) : []),
    ...(kinds.has('meta') ? (['META_STATUS_CHANGE', 'DEVICE_DELETE'] as const) : []),
  ]
  return {
    ...(hasDevices && { devices: new Set(devices) }),
    ...(!kinds.has('events') && { types: new Set(types) }),
  }
}

/** Whether a filter may match a topic that begins with these levels. */
export function mayMatchBelow(filter: readonly string[], ...levels: readonly string[]): boolean {
  const open = filter.indexOf('#')
  const wanted = filter.slice(0, open < 0 ? levels.length : Math.min(open, levels.length))
  return isMatchingLevels(wanted, levels.slice(0, wanted.length))
}
