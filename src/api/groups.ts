import { z } from 'zod'
import { pageFields, pathParameters } from '#api/fields'
import { changeAnswer, defineRoute, errorAnswers, notModified } from '#api/route-entry'
import { exampleAuthorship, exampleDevice } from '#api/state-shape'
import { GroupBody, GroupEntry, GroupPatch } from '#model/group'

/** Groups: named lists of devices for alarms, functions, actions, roles and rollouts. Contract 5.1. */

export const exampleGroup = pathParameters.groupId.example
const body = { name: 'Hall 3', devices: [exampleDevice] }
const example = {
  ...body,
  resourceIdentifier: `crn#group:${exampleGroup}`,
  ...exampleAuthorship,
}

export const listGroups = defineRoute('listGroups', {
  route: 'GET /groups',
  summary: 'List the groups of which the caller may read all devices',
  access: { resource: 'functions', action: 'read', within: 'list' },
  query: z.object(pageFields),
  answers: { 200: { description: 'Groups', schema: z.array(GroupEntry) } },
  example: { answer: [example] },
})

export const createGroup = defineRoute('createGroup', {
  route: 'POST /groups',
  summary: 'Create a group of devices that the caller may read',
  access: { resource: 'functions', action: 'create', within: 'tenant' },
  body: { schema: GroupBody },
  answers: { 201: { description: 'Created', schema: GroupEntry }, ...errorAnswers(404, 409) },
  example: { body, answer: example },
})

export const readGroup = defineRoute('readGroup', {
  route: 'GET /groups/:groupId',
  summary: 'Read a group',
  access: { resource: 'functions', action: 'read', within: 'tenant' },
  answers: { 200: { description: 'The group', schema: GroupEntry }, ...notModified },
  example: { answer: example },
})

export const updateGroup = defineRoute('updateGroup', {
  route: 'PATCH /groups/:groupId',
  summary: 'Change the name or the devices of a group, also for the alarms, functions and roles that name it',
  access: { resource: 'functions', action: 'update', within: 'tenant' },
  body: { schema: GroupPatch },
  answers: { 200: { description: 'The group', schema: changeAnswer(GroupEntry) }, ...errorAnswers(409, 412) },
  example: { body, answer: example },
})

export const deleteGroup = defineRoute('deleteGroup', {
  route: 'DELETE /groups/:groupId',
  summary: 'Delete a group that no alarm, function or role names',
  access: { resource: 'functions', action: 'delete', within: 'tenant' },
  answers: { 204: { description: 'Deleted' }, ...errorAnswers(409, 412) },
})
