import { z } from 'zod'
import { PropertyId, Timestamp } from '#model/identifier'
import { PropertyValue, propertyTypes } from '#model/property-type'

/** A property as the service API and its events show it. §2.2, contract 3.2, 3.8. */

/** The flags of a modifier and the bit each has where modifiers are stored. The numbers are on disk: only add. */
export const modifierFlags = {
  isReadOnly: 1,
  isActionable: 2,
  isVolatile: 4,
  isError: 8,
  isArray: 16,
} as const

/** What a property allows and is at the moment. §2.2. */
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
 * `tag` says which of the rest is there: `value` may have a `value` (none before the first report), `error` has
 * `error` and `modifier.isError`, `removed` is said once, in an event, of what is declared no more. Contract 3.8.
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

/** The flags as bits; missing ones are 0. Undone by `modifierOf`. */
export function modifierBits(modifier: PartialModifier): number {
  return (
    (modifier.isReadOnly ? modifierFlags.isReadOnly : 0) |
    (modifier.isActionable ? modifierFlags.isActionable : 0) |
    (modifier.isVolatile ? modifierFlags.isVolatile : 0) |
    (modifier.isError ? modifierFlags.isError : 0) |
    (modifier.isArray ? modifierFlags.isArray : 0)
  )
}

/** All 32, made once and frozen: every property of every answer shows one. */
const modifiers: readonly Modifier[] = Array.from({ length: 32 }, (_, bits) =>
  Object.freeze({
    isReadOnly: (bits & modifierFlags.isReadOnly) !== 0,
    isActionable: (bits & modifierFlags.isActionable) !== 0,
    isVolatile: (bits & modifierFlags.isVolatile) !== 0,
    isError: (bits & modifierFlags.isError) !== 0,
    isArray: (bits & modifierFlags.isArray) !== 0,
  }),
)

/** The modifier of these bits, frozen and shared; bits beyond the known ones are ignored. Undone by `modifierBits`. */
export function modifierOf(bits: number): Modifier {
  return modifiers[bits & 31] as Modifier
}
