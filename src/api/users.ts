import { z } from 'zod'
import { codeLifetimeField, pageFields, TenantQuery, tenantFields } from '#api/fields'
import { changeAnswer, defineRoute, errorAnswers, notModified } from '#api/route-entry'
import { ResourceIdentifier } from '#model/crn'
import { Timestamp } from '#model/identifier'
import { Email, NewUserName, RoleNames, UserEntry, UserName } from '#model/user'

/** Users of a tenant. Contract 2. */

/** An invitation. The code is shown once; anyone who has it can set the password. */
export const Invitation = z.object({
  name: UserName,
  code: z.string(),
  expiresAt: Timestamp,
  resourceIdentifier: ResourceIdentifier,
  /** Whether the mail server accepted a mail with a link. Absent: no mail was sent. */
  mailed: z.boolean().optional(),
})
export type Invitation = z.infer<typeof Invitation>

export const exampleUser = {
  name: 'ann',
  email: 'ann@acme.example',
  roles: ['operator'],
  state: 'active',
  twoFactor: ['totp'],
  createdAt: 1_790_000_000_000,
  resourceIdentifier: 'crn#user:2Vb7qYx9Kd',
} as const

const exampleInvitation = {
  name: 'bob',
  code: '7bTq5mXwZr2NcVd9KpLhGf',
  expiresAt: 1_790_604_800_000,
  resourceIdentifier: 'crn#user:9Hf3kWz5Tn',
}

export const createUser = defineRoute('createUser', {
  route: 'POST /iam/users',
  summary: 'Invite a user; the code to sign up with is shown once',
  access: { resource: 'users', action: 'create', within: 'tenant' },
  isSecret: true,
  query: TenantQuery,
  body: {
    schema: z.strictObject({
      name: NewUserName,
      email: Email.optional(),
      roles: RoleNames,
      expiresIn: codeLifetimeField.optional(),
    }),
  },
  answers: { 201: { description: 'Invited', schema: Invitation }, ...errorAnswers(409) },
  example: { body: { name: 'bob', email: 'bob@acme.example', roles: ['viewer'] }, answer: exampleInvitation },
})

export const listUsers = defineRoute('listUsers', {
  route: 'GET /iam/users',
  summary: 'List the users, by name',
  access: { resource: 'users', action: 'read', within: 'tenant' },
  query: z.object({ ...tenantFields, ...pageFields }),
  answers: { 200: { description: 'Users', schema: z.array(UserEntry) } },
  example: { answer: [exampleUser] },
})

export const readUser = defineRoute('readUser', {
  route: 'GET /iam/users/:name',
  summary: 'Read a user',
  access: { resource: 'users', action: 'read', within: 'tenant' },
  query: TenantQuery,
  answers: { 200: { description: 'The user', schema: UserEntry }, ...notModified },
  example: { answer: exampleUser },
})

export const updateUser = defineRoute('updateUser', {
  route: 'PATCH /iam/users/:name',
  summary: 'Change address, roles or state; disabling ends every session at once',
  access: { resource: 'users', action: 'update', within: 'tenant' },
  query: TenantQuery,
  body: {
    schema: z.strictObject({
      /** Null: no mail address. */
      email: Email.nullable().optional(),
      roles: RoleNames.optional(),
      /** `active` makes a user who never signed up `invited`. */
      state: z.enum(['active', 'disabled']).optional(),
    }),
  },
  answers: { 200: { description: 'The user', schema: changeAnswer(UserEntry) }, ...errorAnswers(409, 412) },
  example: { body: { roles: ['operator'] }, answer: exampleUser },
})

export const deleteUser = defineRoute('deleteUser', {
  route: 'DELETE /iam/users/:name',
  summary: 'Delete a user; every session ends at once',
  access: { resource: 'users', action: 'delete', within: 'tenant' },
  query: TenantQuery,
  answers: { 204: { description: 'Deleted' }, ...errorAnswers(409, 412) },
})

export const renewUserCode = defineRoute('renewUserCode', {
  route: 'POST /iam/users/:name/code',
  summary: 'Create a code for a new password; the old password works until the code is used, older codes do not',
  access: { resource: 'users', action: 'update', within: 'tenant' },
  isSecret: true,
  query: TenantQuery,
  body: { schema: z.strictObject({ resetTwoFactor: z.boolean().optional() }).optional() },
  answers: { 200: { description: 'The code, shown once', schema: Invitation } },
  example: { parameters: { name: 'bob' }, body: { resetTwoFactor: true }, answer: exampleInvitation },
})
