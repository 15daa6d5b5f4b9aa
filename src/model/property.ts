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

/** A modifier as devices declare it: missing flags are false. Contract 3.8. */
export const PartialModifier = Modifier.partial()

const wireNames = [...propertyTypes.values()].map((type) => type.wireName)

/** Upper-case name of a data type, `UINT8`, `UINT8-ARRAY`. §2.2. */
export const PropertyTypeName = z.enum(wireNames as [string, ...string[]])

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
