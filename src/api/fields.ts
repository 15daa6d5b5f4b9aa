import { z } from 'zod'
import { exampleDevice, exampleService } from '#api/state-shape'
import { FilterCondition } from '#model/condition'
import {
  DeviceIdentifier,
  FirmwareVersion,
  ServerMadeId,
  ServiceIdentifier,
  Sha256,
  ShortName,
} from '#model/identifier'
import { RoleName } from '#model/role'
import { SubscriptionId } from '#model/subscription'
import { TenantReference } from '#model/tenant'
import { UserName } from '#model/user'

/**
 * The usual schemas of path parameters by name, in the order of documents. An entry may give another one. An invalid
 * parameter makes the path unknown (404), unless the entry shows its faults.
 */
export const pathParameters = {
  actionId: { schema: ServerMadeId, example: '6Hn3wRt5Mz' },
  alarmId: { schema: ServerMadeId, example: '8Hj4wRt6Zp' },
  functionId: { schema: ServerMadeId, example: '7Gm2sXv5Hd' },
  groupId: { schema: ServerMadeId, example: '5Kd9tVw3Cx' },
  name: { schema: UserName, example: 'ann' },
  project: { schema: ShortName, example: 'boiler' },
  deviceIdentifier: { schema: DeviceIdentifier, example: exampleDevice },
  serviceIdentifier: { schema: ServiceIdentifier, example: exampleService },
  firmware: { schema: FirmwareVersion, example: '1.4.2' },
  id: { schema: ServerMadeId, example: '3Nc7xJr4Vq' },
  key: { schema: z.string().min(1), example: 'location' },
  // An invalid name is treated as a project without devices.
  projectIdentifier: { schema: z.string(), example: 'boiler' },
  role: { schema: RoleName, example: 'ops' },
  sha256: { schema: Sha256, example: 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad' },
  subscriptionId: { schema: SubscriptionId, example: '9Pw3tKc8Lb' },
  tenantIdentifier: { schema: TenantReference, example: 'other' },
} as const

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

/** A condition over devices, as JSON. Contract 3.7. */
export const filterField = z
  .string('must be one condition')
  .transform((text, context): unknown => {
    try {
      return JSON.parse(text)
    } catch {
      context.addIssue({ code: 'custom', message: 'must be JSON' })
      return z.NEVER
    }
  })
  .pipe(FilterCondition)

const searchCharactersMax = 256
const searchWordsMax = 16

/** Words that all must occur. Contract 12, Names. */
export const searchField = z
  .string('must be one text')
  .max(searchCharactersMax, `must have at most ${searchCharactersMax} characters`)
  .refine((text) => text.trim().split(/\s+/).length <= searchWordsMax, `must be at most ${searchWordsMax} words`)

/** The minimum lifetime in seconds: a shorter one leaves no time to hand over a code or key. */
const lifetimeSMin = 60

/** A year: an older invitation is no longer expected. */
const codeLifetimeSMax = 31_536_000

/** Ten years: keys are built into machines. */
const keyLifetimeSMax = 315_360_000

export const codeLifetimeField = z.int().min(lifetimeSMin).max(codeLifetimeSMax)

/** If absent, the key is valid until it is deleted. */
export const keyLifetimeField = z.int().min(lifetimeSMin).max(keyLifetimeSMax)

/**
 * The tenant of users, roles and keys: administrators of tenants may name a tenant other than their own. Contract 2,
 * Model.
 */
export const tenantFields = { tenant: TenantReference.optional() }

export const TenantQuery = z.object(tenantFields)
export type TenantQuery = z.infer<typeof TenantQuery>

/** A field of a signed URL. An invalid value counts as empty: then the signature does not match. */
export const signatureField = z.string().catch('').default('')
