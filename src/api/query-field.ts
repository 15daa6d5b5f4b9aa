import { z } from 'zod'
import { DeviceIdentifier } from '#model/identifier'

/** Query fields of several routes. Contract 1.5, 3.1, 3.2, 3.4. */

export const booleanField = z
  .enum(['true', 'false'], { error: 'must be true or false' })
  .transform((text) => text === 'true')

const wholeNumber = z
  .string()
  .regex(/^\d{1,15}$/, 'must be a whole number')
  .transform(Number)

/** The depth of an answer; a larger number means the deepest. */
export const depthField = wholeNumber

export const limitMax = 10_000
export const limitField = wholeNumber.refine(
  (limit) => limit >= 1 && limit <= limitMax,
  `must be from 1 to ${limitMax}`,
)

/** Created by the server from the last item of the page before; opaque to clients. */
export const cursorField = z
  .string()
  .max(512)
  .regex(/^[A-Za-z0-9_-]+$/, 'is not a valid cursor')

/** May be repeated. */
export const deviceIdentifiersField = z
  .union([DeviceIdentifier, z.array(DeviceIdentifier).max(10_000)])
  .transform((found) => (typeof found === 'string' ? [found] : found))

export const pageFields = { limit: limitField.optional(), cursor: cursorField.optional() }

const stateFields = {
  depth: depthField.optional(),
  raw: booleanField.optional(),
  hex: booleanField.optional(),
}

export const ListQuery = z.object({
  ...stateFields,
  ...pageFields,
  deviceIdentifier: deviceIdentifiersField.optional(),
})
export type ListQuery = z.infer<typeof ListQuery>

export const StateQuery = z.object(stateFields)
export type StateQuery = z.infer<typeof StateQuery>

/** The cursor after a name; the inverse of `nameOfCursor`. */
export function cursorOf(name: string): string {
  return Buffer.from(name).toString('base64url')
}

export function nameOfCursor(cursor: string | undefined): string {
  return cursor === undefined ? '' : Buffer.from(cursor, 'base64url').toString()
}
