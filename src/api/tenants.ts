import { z } from 'zod'
import { changeAnswer, defineRoute, errorAnswers, notModified } from '#api/route-entry'
import { TenantIdentifier } from '#model/identifier'
import { TenantEntry, TenantHosts, TenantName, TwoFactorPolicy } from '#model/tenant'

/** Tenants: only for users with permissions on `tenants` in tenant `default`. Contract 2. */

const example = {
  tenantIdentifier: 'other',
  name: 'Other Works',
  hosts: ['devices.other.example'],
  twoFactor: 'optional',
  basic: true,
  createdAt: 1_790_000_000_000,
  resourceIdentifier: 'crn#tenant:other',
}
/** The settings of a tenant. */
const settings = { hosts: TenantHosts.optional(), twoFactor: TwoFactorPolicy.optional(), basic: z.boolean().optional() }

export const listTenants = defineRoute('listTenants', {
  route: 'GET /iam/tenants',
  summary: 'List the tenants, by identifier',
  access: { resource: 'tenants', action: 'read', within: 'tenant' },
  answers: { 200: { description: 'Tenants', schema: z.array(TenantEntry) } },
  example: { answer: [example] },
})

export const createTenant = defineRoute('createTenant', {
  route: 'POST /iam/tenants',
  summary: 'Create a tenant',
  access: { resource: 'tenants', action: 'create', within: 'tenant' },
  body: { schema: z.strictObject({ tenantIdentifier: TenantIdentifier, name: TenantName, ...settings }) },
  answers: { 201: { description: 'Created', schema: TenantEntry }, ...errorAnswers(409) },
  example: {
    body: { tenantIdentifier: 'third', name: 'Third Works' },
    answer: {
      tenantIdentifier: 'third',
      name: 'Third Works',
      twoFactor: 'optional',
      basic: true,
      createdAt: 1_790_000_000_000,
      resourceIdentifier: 'crn#tenant:third',
    },
  },
})

export const readTenant = defineRoute('readTenant', {
  route: 'GET /iam/tenants/:tenantIdentifier',
  summary: 'Read a tenant',
  access: { resource: 'tenants', action: 'read', within: 'tenant' },
  answers: { 200: { description: 'The tenant', schema: TenantEntry }, ...notModified },
  example: { answer: example },
})

export const updateTenant = defineRoute('updateTenant', {
  route: 'PATCH /iam/tenants/:tenantIdentifier',
  summary: 'Change the name, the hosts or the sign-in rules of a tenant',
  access: { resource: 'tenants', action: 'update', within: 'tenant' },
  body: { schema: z.strictObject({ name: TenantName.optional(), ...settings }) },
  answers: { 200: { description: 'The tenant', schema: changeAnswer(TenantEntry) }, ...errorAnswers(409, 412) },
  example: { body: { hosts: ['devices.other.example'] }, answer: example },
})

export const deleteTenant = defineRoute('deleteTenant', {
  route: 'DELETE /iam/tenants/:tenantIdentifier',
  summary: 'Delete a tenant, which is unreachable at once; its data is deleted in the background',
  access: { resource: 'tenants', action: 'delete', within: 'tenant' },
  answers: { 204: { description: 'The tenant is unreachable' }, ...errorAnswers(409, 412) },
})
