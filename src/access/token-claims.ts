import { z } from 'zod'
import { idOfCrn } from '#model/crn'
import { isServerMadeId, isTenantIdentifier } from '#model/identifier'
import type { Grant } from '#model/scope'

/**
 * What our tokens say, by their `typ`. RFC 7519 §4.1, RFC 9068 §2.2, contract 2 (Tokens).
 *
 * `iss` and `aud` are for others: we know our tokens by our key, and a changed public URL signs nobody out.
 */

export const tokenTypes = { access: 'at+jwt', basicRefresh: 'rt+jwt', secondFactor: '2fa+jwt' } as const
export type TokenType = (typeof tokenTypes)[keyof typeof tokenTypes]

/** So many names of devices and services are told along; more are for `/iam/me`. Contract 2. */
const informingNamesMax = 32

const seconds = z.int().min(0)
const jkt = z.string().length(43)
const subject = z.string().transform((text, context) => {
  const id = idOfCrn(text, 'user')
  if (id === undefined) context.addIssue('must be a user')
  return id ?? z.NEVER
})
const tenant = z.string().refine(isTenantIdentifier)
const sid = z.string().refine(isServerMadeId)

const common = { sub: subject, tenant, jti: z.string().min(1), iat: seconds, exp: seconds }

const AccessClaims = z.object({
  ...common,
  /** `<random>.<number>`: a refresh replaces access tokens of lower numbers. */
  jti: z
    .string()
    .regex(/^[\w-]+\.\d{1,10}$/)
    .transform((id) => Number(id.slice(id.indexOf('.') + 1))),
  sid,
  roles: z.array(z.string()),
  cnf: z.object({ jkt }).optional(),
})

/** `jti` is `<sid>.<number>`: named by what it is, it need not be kept. */
const BasicRefreshClaims = z.object({ ...common, sid })

const SecondFactorClaims = z.object({
  ...common,
  cnf: z.object({ jkt }),
  /** Version of the account's credentials: a changed password makes the token worthless. */
  ver: z.int().min(0),
  enroll: z.boolean(),
})

export const claimsOf = {
  [tokenTypes.access]: AccessClaims,
  [tokenTypes.basicRefresh]: BasicRefreshClaims,
  [tokenTypes.secondFactor]: SecondFactorClaims,
} as const

/**
 * What a token tells its reader about rights: only where one grant holds all of them, because the union of several is
 * not what two lists side by side would say. The server decides by the roles of now, never by this. Contract 2.
 */
export function informing(
  grants: readonly Grant[],
): Pick<Grant, 'permissions' | 'devices' | 'services'> | Record<string, never> {
  const [grant, ...more] = grants
  if (!grant || more.length > 0 || grant.devices.length + grant.services.length > informingNamesMax) return {}
  const { permissions, devices, services } = grant
  return { permissions, devices, services }
}
