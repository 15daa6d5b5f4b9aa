import { addState, ofAddress, type WalkTarget } from '#history/chunk-walk'
import type { PropertyValue } from '#model/property-type'

/** Points of one property that come from elsewhere, not from the stream. */
export interface ImportedSeries {
  readonly tenant: string
  readonly device: string
  readonly flakeAddress: number
  readonly service: string
  readonly propId: number
  /** Lower-case name of its type. */
  readonly type: string
  /** Unix ms, in any order. */
  readonly times: readonly number[]
  /** The values in their normal form, one for each time. */
  readonly values: readonly PropertyValue[]
}

/** Adds the points of a series to the columns. Returns how many were left out because they are too old. */
export function addImported(
  { tenant, device: name, flakeAddress, service, propId, type, times, values }: ImportedSeries,
  target: WalkTarget,
): number {
  const { table, columns, retentions, now } = target
  const known = table.device(tenant, name)
  // The device was deleted and created again during the import.
  if (known.flakeAddress > flakeAddress) return 0
  const device = ofAddress(known, flakeAddress, target)
  const oldest = retentions.oldestStored(retentions.of(tenant, { service, propId }), now)
  const id = table.idOf(device, { service, propId, type })
  let tooOld = 0
  for (const [place, time] of times.entries()) {
    if (time < oldest) tooOld++
    else addState(id, time, values[place] ?? null, columns)
  }
  return tooOld
}
