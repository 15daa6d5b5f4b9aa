import { z } from 'zod'
import { deviceIdentifierOf, isServerMadeId, isShortName, isTenantIdentifier } from '#model/identifier'
import { normalised } from '#model/text'

/**
 * Resource names, `crn#<type>:<id>`: the unique name of a resource in the API. §2.1, contract 1.7.
 *
 * A tenant is named by itself. A resource with an id created by the server is named by that id. A resource named by
 * users is named by its tenant and that name, because two tenants may choose the same name.
 */

/** Where the id of each type comes from. */
export const crnTypes = {
  tenant: 'tenant',
  user: 'created',
  function: 'created',
  subscription: 'created',
  alarm: 'created',
  group: 'created',
  key: 'created',
  role: 'named',
  device: 'named',
  template: 'named',
  project: 'named',
} as const

export type CrnType = keyof typeof crnTypes
type TypeOfForm<Form> = { [T in CrnType]: (typeof crnTypes)[T] extends Form ? T : never }[CrnType]

/** Types whose resource names consist of an id alone. */
export type CrnTypeWithId = TypeOfForm<'tenant' | 'created'>
/** Types whose names are chosen by users and unique in a tenant. */
export type CrnTypeWithName = TypeOfForm<'named'>

export type Crn =
  | { readonly type: CrnTypeWithId; readonly id: string }
  | { readonly type: CrnTypeWithName; readonly tenant: string; readonly name: string }

/** `crn#` + the longest type + `:` + the longest tenant + `/` + the longest name. */
export const crnCharactersMax = 4 + 12 + 1 + 63 + 1 + 64

const crnPattern = /^crn#([a-z]+):([^/]+)(?:\/(.+))?$/

/** A resource name of any type, in its normal form. */
export const ResourceIdentifier = normalised(
  (text) => {
    const crn = parseCrn(text)
    return crn && formatCrn(crn)
  },
  'must be a resource name such as crn#user:2Vb7qYx9Kd',
  z.string().max(crnCharactersMax, { abort: true }),
)

/**
 * The parts of a resource name in their normal forms; undefined if the text is no resource name. The inverse of
 * `formatCrn`.
 */
export function parseCrn(text: string): Crn | undefined {
  if (text.length > crnCharactersMax) return undefined
  const [, type, first, name] = crnPattern.exec(text) ?? []
  if (type === undefined || first === undefined || !isCrnType(type)) return undefined
  if (isNamed(type)) return name === undefined ? undefined : namedOf(type, first, name)
  return isIdOf(type, first) && name === undefined ? { type, id: first } : undefined
}

/** The resource name of valid parts. The inverse of `parseCrn`. */
export function formatCrn(crn: Crn): string {
  return 'id' in crn ? `crn#${crn.type}:${crn.id}` : `crn#${crn.type}:${crn.tenant}/${crn.name}`
}

/** The id in a resource name of this type, or undefined: `idOfCrn('crn#user:2Vb7qYx9Kd', 'user')`. */
export function idOfCrn(text: string, type: CrnTypeWithId): string | undefined {
  const crn = parseCrn(text)
  return crn?.type === type && 'id' in crn ? crn.id : undefined
}

/** A resource of this type, by its id or its resource name; the result is the id. Contract 1.7. */
export function referenceTo(type: CrnTypeWithId, message: string) {
  return normalised((text) => (isIdOf(type, text) ? text : idOfCrn(text, type)), message)
}

function isIdOf(type: CrnTypeWithId, text: string): boolean {
  return crnTypes[type] === 'tenant' ? isTenantIdentifier(text) : isServerMadeId(text)
}

function namedOf(type: CrnTypeWithName, tenant: string, text: string): Crn | undefined {
  const name = type === 'device' ? deviceIdentifierOf(text) : isShortName(text) ? text : undefined
  return name !== undefined && isTenantIdentifier(tenant) ? { type, tenant, name } : undefined
}

function isCrnType(text: string): text is CrnType {
  return Object.hasOwn(crnTypes, text)
}

function isNamed(type: CrnType): type is CrnTypeWithName {
  return crnTypes[type] === 'named'
}
