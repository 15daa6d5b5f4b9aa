import { z } from 'zod'
import { defineRoute } from '#api/entry'
import { errorAnswers } from '#api/error-answers'
import { keyLifetimeField } from '#api/lifetime-field'
import { TenantQuery } from '#api/tenant-field'
import { ResourceIdentifier } from '#model/crn'
import { ServerMadeId, Timestamp } from '#model/identifier'
import { printable } from '#model/printable'
import { RoleNames } from '#model/user'

/** API keys, which act as a user with roles of their own, sent as `X-API-Key`. Contract 2. */

const KeyName = printable(64)
const ApiKeyEntry = z.object({
  id: ServerMadeId,
  name: KeyName,
  roles: RoleNames,
  createdAt: Timestamp,
  /** Absent: it ends when it is deleted. */
  expiresAt: Timestamp.optional(),
  resourceIdentifier: ResourceIdentifier,
  /** Absent in keys that were created before this field existed. */
  createdBy: z.string().optional(),
  /** Refused with 401 while its creator may not give its roles. */
  isSuspended: z.boolean(),
})

export const listApiKeys = defineRoute('listApiKeys', {
  route: 'GET /iam/api-keys',
  source: 'contract 2',
  summary: 'List the API keys, without their secrets',
  access: { resource: 'users', action: 'read', within: 'tenant' },
  query: TenantQuery,
  answers: { 200: { description: 'Keys', schema: z.array(ApiKeyEntry) }, ...errorAnswers(400, 401, 403, 404) },
  example: {
    status: 200,
    answer: [
      {
        id: '4Qm8sUx2Bw',
        name: 'Reporting',
        roles: ['viewer'],
        createdAt: 1_790_000_000_000,
        resourceIdentifier: 'crn#key:4Qm8sUx2Bw',
        createdBy: 'crn#user:2Vb7qYx9Kd',
        isSuspended: false,
      },
    ],
  },
})

export const createApiKey = defineRoute('createApiKey', {
  route: 'POST /iam/api-keys',
  source: 'contract 2',
  summary: 'Create an API key; it is shown once',
  access: { resource: 'users', action: 'create', within: 'tenant' },
  isSecret: true,
  query: TenantQuery,
  body: { schema: z.strictObject({ name: KeyName, roles: RoleNames, expiresIn: keyLifetimeField.optional() }) },
  answers: {
    201: { description: 'Created', schema: z.object({ id: ServerMadeId, key: z.string() }) },
    ...errorAnswers(400, 401, 403, 404, 409),
  },
  example: {
    body: { name: 'Reporting', roles: ['viewer'] },
    status: 201,
    answer: { id: '4Qm8sUx2Bw', key: 'default.4Qm8sUx2Bw.Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9vYmFyYmF6MDEyMzQ' },
  },
})

export const deleteApiKey = defineRoute('deleteApiKey', {
  route: 'DELETE /iam/api-keys/:id',
  source: 'contract 2',
  summary: 'Delete an API key, with its tickets and sockets',
  access: { resource: 'users', action: 'delete', within: 'tenant' },
  parameters: z.object({ id: ServerMadeId }),
  query: TenantQuery,
  answers: { 204: { description: 'Ended' }, ...errorAnswers(400, 401, 403, 404) },
  example: { parameters: { id: '4Qm8sUx2Bw' }, status: 204 },
})
