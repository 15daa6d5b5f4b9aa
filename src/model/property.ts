import { z } from 'zod'
import { PropertyId, Timestamp } from '#model/identifier'
import { PropertyValue, propertyTypes } from '#model/property-type'

/** A property in the service API and its events. §2.2, contract 3.2, 3.8. */

/** Permissions and present flags of a property. §2.2. */
export const Modifier = z.object({
  isReadOnly: z.boolean(),
  isActionable: z.boolean(),
  isVolatile: z.boolean(),
  isError: z.boolean(),
  isArray: z.boolean(),
})
export type Modifier = Readonly<z.infer<typeof Modifier>>

/** As devices declare it: missing flags are false. Contract 3.8. */
export const PartialModifier = Modifier.partial()
export type PartialModifier = Readonly<z.infer<typeof PartialModifier>>

const wireNames = [...propertyTypes.values()].map((type) => type.wireName)

/** Upper-case name of a data type, `UINT8`, `UINT8-ARRAY`. §2.2. */
export const PropertyTypeName = z.enum(wireNames as [string, ...string[]])
export type PropertyTypeName = z.infer<typeof PropertyTypeName>

/**
 * `tag` determines the other fields: `value` may have a `value` (none before the first report), `error` has `error` and
 * `modifier.isError`, `removed` comes once, in an event, for a property that is no longer declared. Contract 3.8.
 */
export const Property = z.object({
  tag: z.enum(['value', 'error', 'removed']),
  modifier: Modifier,
  propId: PropertyId,
  type: PropertyTypeName,
  value: PropertyValue.optional(),
  error: z.string().optional(),
  timestamp: Timestamp.optional(),
})
export type Property = Readonly<z.infer<typeof Property>>

/** Modifiers as bits: the stored form, and one object for all properties with the same flags. §2.2 */

/** The flags of a modifier and the bit of each in the stored form. The numbers are on disk: only add. */
export const modifierFlags = {
  isReadOnly: 1,
  isActionable: 2,
  isVolatile: 4,
  isError: 8,
  isArray: 16,
} as const

/** The flags as bits; missing ones are 0. The inverse of `modifierOf`. */
export function modifierBits(modifier: PartialModifier): number {
  return (
    (modifier.isReadOnly ? modifierFlags.isReadOnly : 0) |
    (modifier.isActionable ? modifierFlags.isActionable : 0) |
    (modifier.isVolatile ? modifierFlags.isVolatile : 0) |
    (modifier.isError ? modifierFlags.isError : 0) |
    (modifier.isArray ? modifierFlags.isArray : 0)
  )
}

/** All 32, made once and frozen: every property of every answer contains one. */
const modifiers: readonly Modifier[] = Array.from({ length: 32 }, (_, bits) =>
  Object.freeze({
    isReadOnly: (bits & modifierFlags.isReadOnly) !== 0,
    isActionable: (bits & modifierFlags.isActionable) !== 0,
    isVolatile: (bits & modifierFlags.isVolatile) !== 0,
    isError: (bits & modifierFlags.isError) !== 0,
    isArray: (bits & modifierFlags.isArray) !== 0,
  }),
)

/** The modifier of these bits, frozen and shared; unknown bits are ignored. The inverse of `modifierBits`. */
export function modifierOf(bits: number): Modifier {
  return modifiers[bits & 31] as Modifier
}
