import type { DeviceView } from '#client/client'

/** The sort value of a device in a column. Devices without a value come last in both directions. */
export type SortKey = (device: DeviceView) => number | string | undefined

/** Whether two lists have the same rows in the same order: then nothing needs to be rendered. */
export function isSameOrder(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((identifier, place) => identifier === other[place])
}

/** Devices with the same value stay in their order. Unknown devices are left out. */
export function sortedBy(
  identifiers: readonly string[],
  devices: { get(identifier: string): DeviceView | undefined },
  sortKey: SortKey,
  isDescending: boolean,
): readonly string[] {
  const rows = identifiers.flatMap((identifier, place) => {
    const device = devices.get(identifier)
    return device ? [{ identifier, place, key: sortKey(device) }] : []
  })
  const sign = isDescending ? -1 : 1
  rows.sort(({ key: a, place }, { key: b, place: otherPlace }) => {
    if (a === b) return place - otherPlace
    if (a === undefined) return 1
    if (b === undefined) return -1
    if (typeof a === typeof b) return a < b ? -sign : sign
    // Numbers before texts.
    return typeof a === 'number' ? -sign : sign
  })
  return rows.map(({ identifier }) => identifier)
}
