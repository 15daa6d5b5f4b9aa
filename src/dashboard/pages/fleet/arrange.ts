import type { DeviceView } from '#client/client'
import type { Condition, FleetView } from '#dashboard/pages/fleet/view'

/** Which devices a view shows, in its order; and how many stand how, whatever the view's status. */
export interface Arranged {
  readonly identifiers: readonly string[]
  readonly counts: Readonly<Record<'any' | 'online' | 'idle' | 'offline', number>>
}

/** What a device is ordered by in a column. Without one it comes last, whichever way round. */
export type SortKey = (device: DeviceView) => number | string | undefined

export interface ArrangeOptions {
  readonly view: FleetView
  /** Absent: as they come, which is by identifier. */
  readonly sortKey?: SortKey | undefined
  /** What the condition compares with: a number where the enumeration or the text gives one. */
  readonly wanted?: number | string | undefined
}

/**
 * Goes through all devices once: `devices` has to come in the order of identifiers. Of 100 000 it takes some hundredths
 * of a second, so it is not for every frame.
 */
export function arrange(devices: Iterable<DeviceView>, { view, sortKey, wanted }: ArrangeOptions): Arranged {
  const counts = { any: 0, online: 0, idle: 0, offline: 0 }
  const shown: DeviceView[] = []
  const needle = view.search.trim().toLowerCase()
  for (const device of devices) {
    if (needle !== '' && !isFound(device, needle)) continue
    if (view.service !== '' && !device.services.has(view.service)) continue
    if (view.condition && !isMet(device, view.condition, wanted)) continue
    counts.any += 1
    if (device.status !== undefined) counts[device.status] += 1
    if (view.status === 'any' || view.status === device.status) shown.push(device)
  }
  const ordered = sortKey ? orderedBy(shown, sortKey, view.isDescending) : shown
  if (!sortKey && view.isDescending) ordered.reverse()
  return { identifiers: ordered.map(({ deviceIdentifier }) => deviceIdentifier), counts }
}

/** Whether two arrangements show the same rows: then nothing needs to be drawn anew. */
export function isSameOrder(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((identifier, place) => identifier === other[place])
}

function orderedBy(devices: readonly DeviceView[], sortKey: SortKey, isDescending: boolean): DeviceView[] {
  const keys = devices.map(sortKey)
  const places = Array.from(devices.keys())
  const sign = isDescending ? -1 : 1
  places.sort((one, other) => {
    const a = keys[one]
    const b = keys[other]
    if (a === b) return one - other
    if (a === undefined) return 1
    if (b === undefined) return -1
    if (typeof a === typeof b) return a < b ? -sign : sign
    // Numbers before texts.
    return typeof a === 'number' ? -sign : sign
  })
  return places.map((place) => devices[place] as DeviceView)
}

function isFound(device: DeviceView, needle: string): boolean {
  return device.deviceIdentifier.toLowerCase().includes(needle) || metaText(device.meta).includes(needle)
}

/** Meta is another object when it is another one, so what was made of it stays true. */
const metaTexts = new WeakMap<object, string>()

function metaText(meta: DeviceView['meta']): string {
  let text = metaTexts.get(meta)
  if (text === undefined) {
    text = JSON.stringify(meta).toLowerCase()
    metaTexts.set(meta, text)
  }
  return text
}

function isMet(device: DeviceView, condition: Condition, wanted: number | string | undefined): boolean {
  const value = device.services.get(condition.serviceIdentifier)?.valueAt(condition.propId)
  if (value === undefined || wanted === undefined || typeof value === 'object') return false
  const found = typeof wanted === 'number' ? Number(value) : String(value)
  return compares[condition.operator](found, wanted)
}

type Comparable = number | string

const compares: Readonly<Record<Condition['operator'], (found: Comparable, wanted: Comparable) => boolean>> = {
  '>': (found, wanted) => found > wanted,
  '>=': (found, wanted) => found >= wanted,
  '<': (found, wanted) => found < wanted,
  '<=': (found, wanted) => found <= wanted,
  '=': (found, wanted) => found === wanted,
  '≠': (found, wanted) => found !== wanted,
}
