import { z } from 'zod'
import { pathParameters, TenantQuery } from '#api/fields'
import { defineRoute, errorAnswers } from '#api/route-entry'
import { ServerMadeId, TenantIdentifier, Timestamp } from '#model/identifier'
import { Grant } from '#model/scope'
import { Email, Password, SecondFactor, SubmittedPassword } from '#model/user'

/** Sessions: the caller's own, and for administrators those of other users. Contract 2. */

export const SessionEntry = z.object({
  id: ServerMadeId,
  createdAt: Timestamp,
  /** To the minute. */
  lastUsedAt: Timestamp,
  address: z.string(),
  agent: z.string(),
  scheme: z.enum(['basic', 'dpop']),
  /** Whether it is the session of this request. */
  isCurrent: z.boolean(),
})
export type SessionEntry = z.infer<typeof SessionEntry>

const example = {
  id: pathParameters.id.example,
  createdAt: 1_790_000_000_000,
  lastUsedAt: 1_790_000_060_000,
  address: '192.0.2.7',
  agent: 'Mozilla/5.0',
  scheme: 'dpop',
  isCurrent: true,
}

export const listSessions = defineRoute('listSessions', {
  route: 'GET /auth/sessions',
  summary: `List the caller's own sessions`,
  access: 'user',
  answers: { 200: { description: 'Sessions', schema: z.array(SessionEntry) } },
  example: { answer: [example] },
})

export const endSession = defineRoute('endSession', {
  route: 'DELETE /auth/sessions/:id',
  summary: `End one of the caller's own sessions`,
  access: 'user',
  answers: { 204: { description: 'Ended' }, ...errorAnswers(404) },
})

export const changePassword = defineRoute('changePassword', {
  route: 'PUT /auth/password',
  summary: `Change the caller's password; the other sessions end`,
  access: 'user',
  isSecret: true,
  body: { schema: z.strictObject({ current: SubmittedPassword, password: Password }) },
  answers: { 204: { description: 'Changed' }, ...errorAnswers(429, 503) },
  example: { body: { current: 'correct horse battery', password: 'staple battery horse' } },
})

export const changeEmail = defineRoute('changeEmail', {
  route: 'PUT /auth/email',
  summary: `Change the caller's mail address, or remove it`,
  access: 'user',
  isSecret: true,
  body: { schema: z.strictObject({ current: SubmittedPassword, email: Email.nullable() }) },
  answers: { 204: { description: 'Changed' }, ...errorAnswers(409, 429, 503) },
  example: { body: { current: 'correct horse battery', email: null } },
})

export const listUserSessions = defineRoute('listUserSessions', {
  route: 'GET /iam/users/:name/sessions',
  summary: 'List the sessions of a user',
  access: { resource: 'users', action: 'read', within: 'tenant' },
  query: TenantQuery,
  answers: { 200: { description: 'Sessions', schema: z.array(SessionEntry) } },
  example: { answer: [{ ...example, isCurrent: false }] },
})

export const endUserSessions = defineRoute('endUserSessions', {
  route: 'DELETE /iam/users/:name/sessions',
  summary: 'End all sessions of a user',
  access: { resource: 'users', action: 'update', within: 'tenant' },
  query: TenantQuery,
  answers: { 204: { description: 'Ended' } },
})

export const endUserSession = defineRoute('endUserSession', {
  route: 'DELETE /iam/users/:name/sessions/:id',
  summary: 'End one session of a user',
  access: { resource: 'users', action: 'update', within: 'tenant' },
  query: TenantQuery,
  answers: { 204: { description: 'Ended' } },
})

/** The caller of a request. Contract 2. */
export const readMe = defineRoute('readMe', {
  route: 'GET /iam/me',
  summary: 'Read the caller and their permissions',
  access: 'session',
  answers: {
    200: {
      description: 'The caller',
      schema: z.object({
        name: z.string(),
        tenant: TenantIdentifier,
        roles: z.array(z.string()),
        /** `deviceCount`: how many devices the grant reaches now. Contract 12. */
        grants: z.array(Grant.extend({ deviceCount: z.int().min(0) })),
        /** Absent if no user is signed in, or the user has no address. */
        email: z.string().optional(),
        twoFactor: z.array(SecondFactor).optional(),
      }),
    },
  },
  example: {
    answer: {
      name: 'anonymous',
      tenant: 'default',
      roles: [],
      grants: [{ permissions: { '*': ['*'] }, devices: ['*'], services: ['*'], deviceCount: 1 }],
    },
  },
})
