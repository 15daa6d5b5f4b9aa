import { z } from 'zod'
import { defineRoute } from '#api/entry'
import { errorAnswers } from '#api/error-answers'
import { booleanField } from '#api/query-field'
import { examplePair, TokenPair, tokenField } from '#api/token-pair'
import { ResourceIdentifier } from '#model/crn'
import { TenantIdentifier } from '#model/identifier'
import { TenantName, TenantReference } from '#model/tenant'
import { SubmittedPassword } from '#model/user'

/** Sign-in and sign-out by the DPoP scheme. §4.1, §5.2, contract 2. */

/** The password was right, and a second factor is needed. */
export const SecondFactorNeeded = z.object({
  status: z.literal('2fa_required'),
  token: z.string(),
  /** Seconds. */
  expiresIn: z.int(),
  methods: z.array(z.enum(['totp', 'webauthn', 'recovery'])),
  /** The user has no factor yet, and the tenant requires one: this token can set one up. */
  enroll: z.boolean(),
})

const TenantConflict = z.object({
  error: z.literal('TENANT_CONFLICT_ERROR'),
  tenants: z.array(
    z.object({ tenantIdentifier: TenantIdentifier, name: TenantName, resourceIdentifier: ResourceIdentifier }),
  ),
})

export const logIn = defineRoute('logIn', {
  route: 'POST /auth/login',
  source: '§4.1, contract 2',
  summary: 'Sign in with an e-mail address, or a name, and a password',
  access: 'proof',
  isSecret: true,
  body: {
    schema: z.strictObject({
      email: z.string().max(256),
      password: SubmittedPassword,
      /** One of several tenants, bare or as a resource name. */
      tenantIdentifier: TenantReference.optional(),
    }),
  },
  answers: {
    200: {
      description: 'The pair of tokens, or the required second factor',
      schema: z.union([TokenPair, SecondFactorNeeded]),
    },
    ...errorAnswers(400, 401, 429, 503),
    409: { description: 'The address and password are valid in several tenants', schema: TenantConflict },
  },
  example: {
    body: { email: 'ann@acme.example', password: 'correct horse battery' },
    status: 200,
    answer: examplePair,
  },
})

export const refreshSession = defineRoute('refreshSession', {
  route: 'POST /auth/token',
  source: '§4.1, contract 2',
  summary: 'Exchange a refresh token, which is valid once, for a new pair of tokens',
  access: 'proof',
  isSecret: true,
  body: { schema: z.strictObject({ refreshToken: tokenField }) },
  answers: { 200: { description: 'The pair', schema: TokenPair }, ...errorAnswers(400, 401, 503) },
  example: { body: { refreshToken: examplePair.refreshToken }, status: 200, answer: examplePair },
})

export const logOut = defineRoute('logOut', {
  route: 'POST /auth/logout',
  source: 'contract 2',
  summary: 'End the session, or all sessions of the user; by either scheme, or by refresh token and proof',
  access: 'user or proof',
  isSecret: true,
  query: z.object({ all: booleanField.optional() }),
  body: { schema: z.strictObject({ refreshToken: tokenField.optional() }).optional() },
  answers: { 204: { description: 'Ended' }, ...errorAnswers(400, 401, 403, 503) },
  example: { query: { all: 'true' }, status: 204 },
})
