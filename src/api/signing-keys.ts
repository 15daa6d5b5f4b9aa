import { z } from 'zod'
import { defineRoute } from '#api/entry'
import { errorAnswers } from '#api/error-answers'
import { Timestamp } from '#model/identifier'

/** The keys that sign tokens. Contract 2, Tokens. */

const SigningKeyEntry = z.object({
  kid: z.string(),
  createdAt: Timestamp,
  /** Absent: tokens are signed with it. */
  retiresAt: Timestamp.optional(),
})
const example = { kid: 'x2Vb7qYx9KdT5mXwZr2NcVd9KpLhGfA1bC3dE5fG7h', createdAt: 1_790_000_000_000 }

export const listSigningKeys = defineRoute('listSigningKeys', {
  route: 'GET /iam/signing-keys',
  source: 'contract 2',
  summary: 'List the keys that sign tokens, and earlier ones',
  access: { resource: 'tenants', action: 'read', within: 'tenant' },
  answers: { 200: { description: 'Keys', schema: z.array(SigningKeyEntry) }, ...errorAnswers(401, 403) },
  example: { status: 200, answer: [example] },
})

export const rotateSigningKey = defineRoute('rotateSigningKey', {
  route: 'POST /iam/signing-keys',
  source: 'contract 2',
  summary: 'Sign with a new key from now on; no session ends',
  access: { resource: 'tenants', action: 'create', within: 'tenant' },
  answers: { 201: { description: 'The new key', schema: SigningKeyEntry }, ...errorAnswers(401, 403, 409) },
  example: { status: 201, answer: example },
})
