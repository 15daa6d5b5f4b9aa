import { z } from 'zod'
import { TenantQuery } from '#api/fields'
import { defineRoute, errorAnswers, notModified } from '#api/route-entry'
import { RoleEntry, RoleGrants } from '#model/role'

/** Roles of a tenant: named lists of grants. Contract 2. */

const grant = { permissions: { service: ['read'], meta: ['read', 'update'] }, devices: ['SENSOR-1'], services: ['*'] }
const example = { name: 'ops', grants: [grant], builtIn: false, resourceIdentifier: 'crn#role:default/ops' }

export const listRoles = defineRoute('listRoles', {
  route: 'GET /iam/roles',
  summary: 'List the roles, including the built-in ones, by name',
  access: { resource: 'roles', action: 'read', within: 'tenant' },
  query: TenantQuery,
  answers: { 200: { description: 'Roles', schema: z.array(RoleEntry) } },
  example: { answer: [example] },
})

export const readRole = defineRoute('readRole', {
  route: 'GET /iam/roles/:role',
  summary: 'Read a role',
  access: { resource: 'roles', action: 'read', within: 'tenant' },
  query: TenantQuery,
  answers: { 200: { description: 'The role', schema: RoleEntry }, ...notModified },
  example: { answer: example },
})

export const putRole = defineRoute('putRole', {
  route: 'PUT /iam/roles/:role',
  summary: 'Create or replace a role; it takes effect on issued tokens and open sockets within a second',
  access: { resource: 'roles', action: 'update', mayCreate: true, within: 'tenant' },
  query: TenantQuery,
  body: { schema: RoleGrants },
  answers: { 200: { description: 'The role', schema: RoleEntry }, ...errorAnswers(409, 412) },
  example: { body: { grants: [grant] }, answer: example },
})

export const deleteRole = defineRoute('deleteRole', {
  route: 'DELETE /iam/roles/:role',
  summary: 'Delete a role that no user has',
  access: { resource: 'roles', action: 'delete', within: 'tenant' },
  query: TenantQuery,
  answers: { 204: { description: 'Deleted' }, ...errorAnswers(409, 412) },
})
