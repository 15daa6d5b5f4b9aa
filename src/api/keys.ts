import { z } from 'zod'
import { keyLifetimeField, TenantQuery } from '#api/fields'
import { defineRoute, errorAnswers } from '#api/route-entry'
import { ResourceIdentifier } from '#model/crn'
import { ServerMadeId, Timestamp, uint32Max } from '#model/identifier'
import { printable } from '#model/text'
import { RoleNames } from '#model/user'

/** API keys: a program sends one as `X-API-Key`, and has the roles of the key. Contract 2. */

const KeyName = printable(64)
const ApiKeyEntry = z.object({
  id: ServerMadeId,
  name: KeyName,
  roles: RoleNames,
  createdAt: Timestamp,
  /** Absent: the key is valid until it is deleted. */
  expiresAt: Timestamp.optional(),
  resourceIdentifier: ResourceIdentifier,
  /** Absent in keys that were created before this field existed. */
  createdBy: z.string().optional(),
  /** The key is refused with 401 because its creator may not give its roles. */
  isSuspended: z.boolean(),
})

export const listApiKeys = defineRoute('listApiKeys', {
  route: 'GET /iam/api-keys',
  summary: 'List the API keys, without their secrets',
  access: { resource: 'users', action: 'read', within: 'tenant' },
  query: TenantQuery,
  answers: { 200: { description: 'Keys', schema: z.array(ApiKeyEntry) } },
  example: {
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
  summary: 'Create an API key; it is shown once',
  access: { resource: 'users', action: 'create', within: 'tenant' },
  isSecret: true,
  query: TenantQuery,
  body: { schema: z.strictObject({ name: KeyName, roles: RoleNames, expiresIn: keyLifetimeField.optional() }) },
  answers: {
    201: { description: 'Created', schema: z.object({ id: ServerMadeId, key: z.string() }) },
    ...errorAnswers(409),
  },
  example: {
    body: { name: 'Reporting', roles: ['viewer'] },
    answer: { id: '4Qm8sUx2Bw', key: 'default.4Qm8sUx2Bw.Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9vYmFyYmF6MDEyMzQ' },
  },
})

export const deleteApiKey = defineRoute('deleteApiKey', {
  route: 'DELETE /iam/api-keys/:id',
  summary: 'Delete an API key, with its tickets and sockets',
  access: { resource: 'users', action: 'delete', within: 'tenant' },
  query: TenantQuery,
  answers: { 204: { description: 'Ended' } },
  example: { parameters: { id: '4Qm8sUx2Bw' } },
})

/** Provisioning keys, with which gateways register devices and send their reports. Contract 2, 7. */

const MaxDevices = z.int().min(1).max(uint32Max)
const ProvisioningKeyEntry = z.object({
  id: ServerMadeId,
  name: KeyName,
  createdAt: Timestamp,
  /** Absent: the key is valid until it is deleted. */
  expiresAt: Timestamp.optional(),
  maxDevices: MaxDevices.optional(),
  /** The number of existing devices that were registered with the key. */
  devices: z.int().min(0),
  resourceIdentifier: ResourceIdentifier,
})

export const listProvisioningKeys = defineRoute('listProvisioningKeys', {
  route: 'GET /iam/provisioning-keys',
  summary: 'List the provisioning keys, without their secrets',
  access: { resource: 'device', action: 'read', within: 'tenant' },
  query: TenantQuery,
  answers: { 200: { description: 'Keys', schema: z.array(ProvisioningKeyEntry) } },
  example: {
    answer: [
      {
        id: '6Rk2vNd8Yj',
        name: 'Hall 3',
        createdAt: 1_790_000_000_000,
        maxDevices: 200,
        devices: 12,
        resourceIdentifier: 'crn#key:6Rk2vNd8Yj',
      },
    ],
  },
})

export const createProvisioningKey = defineRoute('createProvisioningKey', {
  route: 'POST /iam/provisioning-keys',
  summary: 'Create a provisioning key; it is shown once',
  access: { resource: 'device', action: 'create', within: 'tenant' },
  isSecret: true,
  query: TenantQuery,
  body: {
    schema: z.strictObject({
      name: KeyName,
      expiresIn: keyLifetimeField.optional(),
      maxDevices: MaxDevices.optional(),
    }),
  },
  answers: {
    201: { description: 'Created', schema: z.object({ id: ServerMadeId, key: z.string() }) },
    ...errorAnswers(409),
  },
  example: {
    body: { name: 'Hall 3', maxDevices: 200 },
    answer: { id: '6Rk2vNd8Yj', key: '6Rk2vNd8Yj.Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9vYmFyYmF6MDEyMzQ' },
  },
})

export const deleteProvisioningKey = defineRoute('deleteProvisioningKey', {
  route: 'DELETE /iam/provisioning-keys/:id',
  summary: 'Delete a provisioning key; its connections are closed',
  access: { resource: 'device', action: 'delete', within: 'tenant' },
  query: TenantQuery,
  answers: { 204: { description: 'Ended' } },
  example: { parameters: { id: '6Rk2vNd8Yj' } },
})

/** The keys that sign tokens. Contract 2, Tokens. */

const SigningKeyEntry = z.object({
  kid: z.string(),
  createdAt: Timestamp,
  /** When the key stops verifying tokens. Absent: the server signs tokens with it. */
  retiresAt: Timestamp.optional(),
})
const exampleSigningKey = { kid: 'x2Vb7qYx9KdT5mXwZr2NcVd9KpLhGfA1bC3dE5fG7h', createdAt: 1_790_000_000_000 }

export const listSigningKeys = defineRoute('listSigningKeys', {
  route: 'GET /iam/signing-keys',
  summary: 'List the keys that sign tokens, and earlier ones',
  access: { resource: 'tenants', action: 'read', within: 'tenant' },
  answers: { 200: { description: 'Keys', schema: z.array(SigningKeyEntry) } },
  example: { answer: [exampleSigningKey] },
})

export const rotateSigningKey = defineRoute('rotateSigningKey', {
  route: 'POST /iam/signing-keys',
  summary: 'Sign with a new key from now on; no session ends',
  access: { resource: 'tenants', action: 'create', within: 'tenant' },
  answers: { 201: { description: 'The new key', schema: SigningKeyEntry }, ...errorAnswers(409) },
  example: { answer: exampleSigningKey },
})
