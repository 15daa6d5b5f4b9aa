import { z } from 'zod'
import { booleanField } from '#api/fields'
import { defineRoute, errorAnswers } from '#api/route-entry'
import { ResourceIdentifier } from '#model/crn'
import { TenantIdentifier } from '#model/identifier'
import { TenantName, TenantReference } from '#model/tenant'
import { Password, SubmittedPassword, UserName } from '#model/user'

/** Tokens of the Basic scheme. §4.1, §5.1, contract 2. */

/** Words separated by spaces, RFC 6749 §3.3; true if a refresh token is requested. */
const offlineField = z
  .string()
  .max(256)
  .transform((text) => text.split(' ').includes('offline'))

const BasicToken = z.object({ token: z.string() })
const BasicTokenPair = BasicToken.extend({ refreshToken: z.string() })
const exampleBasicPair = { token: 'eyJhbGciOiJFUzI1NiJ9.e30.c2ln', refreshToken: 'eyJhbGciOiJFUzI1NiJ9.e30.c2ln' }

export const readToken = defineRoute('readToken', {
  route: 'GET /iam/token',
  summary: 'Sign in with `Authorization: Basic`; with `scope=offline` also for a refresh token',
  access: 'none',
  isSecret: true,
  query: z.object({ scope: offlineField.optional() }),
  answers: {
    200: { description: 'The token', schema: z.union([BasicTokenPair, BasicToken]) },
    ...errorAnswers(401, 429, 503),
  },
  example: { query: { scope: 'offline' }, answer: exampleBasicPair },
})

export const refreshToken = defineRoute('refreshToken', {
  route: 'POST /iam/token',
  summary: 'Exchange a refresh token, which is valid once, for a new pair of tokens',
  access: 'none',
  isSecret: true,
  query: z.object({ grant_type: z.literal('refresh_token'), scope: offlineField.optional() }),
  body: { schema: z.strictObject({ refreshToken: z.string().max(4096) }) },
  answers: { 200: { description: 'The pair', schema: BasicTokenPair }, ...errorAnswers(401, 503) },
  example: {
    query: { grant_type: 'refresh_token' },
    body: { refreshToken: exampleBasicPair.refreshToken },
    answer: exampleBasicPair,
  },
})

/** Sign-up with an invitation, and a new password with a code. Contract 2, Sign-up. */
export const signUp = defineRoute('signUp', {
  route: 'POST /iam/signup',
  summary: 'Set the password with an invitation or reset code; all earlier sessions end',
  access: 'none',
  isSecret: true,
  body: {
    schema: z.strictObject({
      // Not `UserName`: an invalid name gets the same answer as a wrong code.
      name: z.string().max(256),
      code: z.string().max(256),
      password: Password,
    }),
  },
  answers: {
    201: { description: 'The account is active', schema: z.object({ name: UserName }) },
    ...errorAnswers(401, 429, 503),
  },
  example: {
    body: { name: 'bob', code: '7bTq5mXwZr2NcVd9KpLhGf', password: 'correct horse battery' },
    answer: { name: 'bob' },
  },
})

/** The result of a sign-in by the DPoP scheme; both tokens are bound to the proven key. §4.1. */
export const TokenPair = z.object({ accessToken: z.string(), refreshToken: z.string() })
export type TokenPair = z.infer<typeof TokenPair>

export const examplePair = {
  accessToken: 'eyJhbGciOiJFUzI1NiJ9.e30.c2ln',
  refreshToken: 'default.3Nc7xJr4Vq.1.Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9vYmFyYmF6MDEyMzQ',
}

/** A refresh token, or the token between a password and a second factor. No such token is longer. */
export const tokenField = z.string().max(4096)

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
    ...errorAnswers(429, 503),
    409: { description: 'The address and password are valid in several tenants', schema: TenantConflict },
  },
  example: { body: { email: 'ann@acme.example', password: 'correct horse battery' }, answer: examplePair },
})

export const refreshSession = defineRoute('refreshSession', {
  route: 'POST /auth/token',
  summary: 'Exchange a refresh token, which is valid once, for a new pair of tokens',
  access: 'proof',
  isSecret: true,
  body: { schema: z.strictObject({ refreshToken: tokenField }) },
  answers: { 200: { description: 'The pair', schema: TokenPair }, ...errorAnswers(503) },
  example: { body: { refreshToken: examplePair.refreshToken }, answer: examplePair },
})

export const logOut = defineRoute('logOut', {
  route: 'POST /auth/logout',
  summary: 'End the session, or all sessions of the user; by either scheme, or by refresh token and proof',
  access: 'user or proof',
  isSecret: true,
  query: z.object({ all: booleanField.optional() }),
  body: { schema: z.strictObject({ refreshToken: tokenField.optional() }).optional() },
  answers: { 204: { description: 'Ended' }, ...errorAnswers(403, 503) },
  example: { query: { all: 'true' } },
})

/** The public keys of tokens, below `/api/v1` and at the root of the server. RFC 7517, §5.1.4, contract 2, Tokens. */
export const readJwks = defineRoute('readJwks', {
  route: 'GET /.well-known/jwks.json',
  summary: 'Read the public keys that verify tokens',
  access: 'none',
  answers: { 200: { description: 'Keys', schema: z.object({ keys: z.array(z.looseObject({ kid: z.string() })) }) } },
  example: {
    answer: {
      keys: [
        {
          kid: 'x2Vb7qYx9KdT5mXwZr2NcVd9KpLhGfA1bC3dE5fG7h',
          kty: 'EC',
          crv: 'P-256',
          x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
          y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
          alg: 'ES256',
          use: 'sig',
        },
      ],
    },
  },
})
