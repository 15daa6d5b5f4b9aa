import { z } from 'zod'
import { defineRoute } from '#api/entry'
import { errorAnswers } from '#api/error-answers'

/** Tokens of the Basic scheme. §4.1, §5.1, contract 2. */

/** Words separated by spaces, RFC 6749 §3.3; true if a refresh token is requested. */
const offlineField = z
  .string()
  .max(256)
  .transform((text) => text.split(' ').includes('offline'))

const Token = z.object({ token: z.string() })
const TokenPair = Token.extend({ refreshToken: z.string() })
const example = { token: 'eyJhbGciOiJFUzI1NiJ9.e30.c2ln', refreshToken: 'eyJhbGciOiJFUzI1NiJ9.e30.c2ln' }

export const readToken = defineRoute('readToken', {
  route: 'GET /iam/token',
  source: '§4.1, contract 2',
  summary: 'Sign in with `Authorization: Basic`; with `scope=offline` also for a refresh token',
  access: 'none',
  isSecret: true,
  query: z.object({ scope: offlineField.optional() }),
  answers: {
    200: { description: 'The token', schema: z.union([TokenPair, Token]) },
    ...errorAnswers(400, 401, 429, 503),
  },
  example: { query: { scope: 'offline' }, status: 200, answer: example },
})

export const refreshToken = defineRoute('refreshToken', {
  route: 'POST /iam/token',
  source: '§4.1, contract 2',
  summary: 'Exchange a refresh token, which is valid once, for a new pair of tokens',
  access: 'none',
  isSecret: true,
  query: z.object({ grant_type: z.literal('refresh_token'), scope: offlineField.optional() }),
  body: { schema: z.strictObject({ refreshToken: z.string().max(4096) }) },
  answers: { 200: { description: 'The pair', schema: TokenPair }, ...errorAnswers(400, 401, 503) },
  example: {
    query: { grant_type: 'refresh_token' },
    body: { refreshToken: example.refreshToken },
    status: 200,
    answer: example,
  },
})
