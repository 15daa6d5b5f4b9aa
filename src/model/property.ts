import { z } from 'zod'
import { PropertyId, Timestamp } from '#model/identifier'
import { PropertyValue, propertyTypes } from '#model/property-type'

export { modifierBits, modifierFlags, modifierOf } from '#model/modifier'

/** A property as the service API and its events show it. §2.2, contract 3.2, 3.8. */

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
