import { z } from 'zod'
import { defineRoute } from '#api/entry'
import { errorAnswers } from '#api/error-answers'
import { keyLifetimeField } from '#api/lifetime-field'
import { TenantQuery } from '#api/tenant-field'
import { ResourceIdentifier } from '#model/crn'
import { ServerMadeId, Timestamp, uint32Max } from '#model/identifier'
import { printable } from '#model/printable'

/** Provisioning keys, with which gateways register devices and send their reports. Contract 2, 7. */

const KeyName = printable(64)
const MaxDevices = z.int().min(1).max(uint32Max)
const ProvisioningKeyEntry = z.object({
  id: ServerMadeId,
  name: KeyName,
  createdAt: Timestamp,
  /** Absent: it ends when it is deleted. */
  expiresAt: Timestamp.optional(),
  maxDevices: MaxDevices.optional(),
  /** The number of existing devices that it registered. */
  devices: z.int().min(0),
  resourceIdentifier: ResourceIdentifier,
})

export const listProvisioningKeys = defineRoute('listProvisioningKeys', {
  route: 'GET /iam/provisioning-keys',
  source: 'contract 2',
  summary: 'List the provisioning keys, without their secrets',
  access: { resource: 'device', action: 'read', within: 'tenant' },
  query: TenantQuery,
  answers: { 200: { description: 'Keys', schema: z.array(ProvisioningKeyEntry) }, ...errorAnswers(400, 401, 403, 404) },
  example: {
    status: 200,
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
  source: 'contract 2',
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
    ...errorAnswers(400, 401, 403, 404, 409),
  },
  example: {
    body: { name: 'Hall 3', maxDevices: 200 },
    status: 201,
    answer: { id: '6Rk2vNd8Yj', key: '6Rk2vNd8Yj.Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9vYmFyYmF6MDEyMzQ' },
  },
})

export const deleteProvisioningKey = defineRoute('deleteProvisioningKey', {
  route: 'DELETE /iam/provisioning-keys/:id',
  source: 'contract 2',
  summary: 'Delete a provisioning key; its links are closed',
  access: { resource: 'device', action: 'delete', within: 'tenant' },
  parameters: z.object({ id: ServerMadeId }),
  query: TenantQuery,
  answers: { 204: { description: 'Ended' }, ...errorAnswers(400, 401, 403, 404) },
  example: { parameters: { id: '6Rk2vNd8Yj' }, status: 204 },
})
