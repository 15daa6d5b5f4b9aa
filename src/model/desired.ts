import { z } from 'zod'
import { Timestamp } from '#model/identifier'
import { PropertyValue } from '#model/property-type'

/** Desired values: a device gets them when it is connected, until it has them or refuses them. Contract 12. */

/**
 * `PENDING`: not sent yet. `SENT`: sent, and not answered; it is sent again after each HELLO. `REJECTED`: refused by
 * the device, or no longer permitted by the schema.
 */
export const desiredStatuses = ['PENDING', 'SENT', 'REJECTED'] as const
export type DesiredStatus = (typeof desiredStatuses)[number]

/** A desired value of one property. */
export interface DesiredItem {
  readonly propId: number
  readonly value: PropertyValue
  /** When the value was requested, Unix ms. */
  readonly since: number
  /** Names the request: all values of one request are sent in one WRITE. */
  readonly id: string
  readonly status: DesiredStatus
  /** Why the value was refused. */
  readonly message?: string
}

/** Desired values by decimal propId, as the API returns them. */
export const DesiredValues = z.record(
  z.string(),
  z.object({
    value: PropertyValue,
    since: Timestamp,
    status: z.enum(desiredStatuses),
    message: z.string().optional(),
  }),
)
export type DesiredValues = z.infer<typeof DesiredValues>

export function desiredValuesOf(items: readonly DesiredItem[]): DesiredValues {
  const shown = items.map(({ propId, value, since, status, message }) => {
    const about = { value, since, status, ...(message !== undefined && { message }) }
    return [String(propId), about] as const
  })
  return Object.fromEntries(shown)
}

/** The stored form. It depends on the order of `desiredStatuses`. */
export type PackedDesired = readonly (readonly [
  propId: number,
  value: PropertyValue,
  since: number,
  id: string,
  status: number,
  message: string | null,
])[]

export function packDesired(items: readonly DesiredItem[]): PackedDesired {
  return items.map(({ propId, value, since, id, status, message }) => [
    ...([propId, value, since, id, desiredStatuses.indexOf(status), message ?? null] as const),
  ])
}

export function unpackDesired(packed: PackedDesired): readonly DesiredItem[] {
  return packed.map(([propId, value, since, id, status, message]) => ({
    ...{ propId, value, since, id, status: desiredStatuses[status] ?? 'PENDING' },
    ...(message !== null && { message }),
  }))
}
