import { z } from 'zod'
import { depthField, deviceIdentifiersField, pageFields } from '#api/fields'
import { changeAnswer, defineRoute, ErrorBody, errorAnswers } from '#api/route-entry'
import { exampleDevice } from '#api/state-shape'
import { MetaPatch, MetaRecord } from '#model/meta'

/** Status and metadata of devices. §2.5, §4.2, contract 2, 3.10, RFC 7396. */

const example = {
  deviceIdentifier: exampleDevice,
  status: 'online',
  lastMessage: 1_790_000_000_000,
  lastConnect: 1_789_999_000_000,
  numConnects: 1,
  meta: { location: { building: 'A', floor: 2 } },
}
const notFound = {
  description: `The device does not exist, or lies outside of the caller's grants.`,
  schema: ErrorBody,
}

export const listMeta = defineRoute('listMeta', {
  route: 'GET /meta',
  summary: 'Read the status of all devices; with their metadata from depth 1',
  access: { resource: 'meta', action: 'read', within: 'list' },
  hasPosition: true,
  query: z.object({
    depth: depthField.optional(),
    ...pageFields,
    deviceIdentifier: deviceIdentifiersField.optional(),
  }),
  answers: { 200: { description: 'Records', schema: z.array(MetaRecord) } },
  example: { query: { depth: '1' }, answer: [example] },
})

export const readMeta = defineRoute('readMeta', {
  route: 'GET /meta/:deviceIdentifier',
  summary: 'Read the status and the metadata of a device',
  access: { resource: 'meta', action: 'read', within: 'device' },
  hasEntityTag: true,
  query: z.object({ depth: depthField.optional() }),
  answers: { 200: { description: 'The record', schema: MetaRecord }, 404: notFound },
  example: { answer: example },
})

export const patchMeta = defineRoute('patchMeta', {
  route: 'PATCH /meta/:deviceIdentifier',
  summary: 'Change the metadata of a device, by a merge patch of `meta`',
  access: { resource: 'meta', action: 'update', within: 'device' },
  body: { schema: MetaPatch, contentTypes: ['application/json', 'application/merge-patch+json'] },
  answers: {
    200: { description: 'The record', schema: changeAnswer(MetaRecord, 'deviceIdentifier') },
    404: notFound,
    409: { description: 'The device would exceed its memory limit', schema: ErrorBody },
    ...errorAnswers(412, 429),
  },
  example: { body: { location: { floor: 2 } }, answer: example },
})

export const deleteMetaKey = defineRoute('deleteMetaKey', {
  route: 'DELETE /meta/:deviceIdentifier/:key',
  summary: 'Delete one key of the metadata of a device',
  access: { resource: 'meta', action: 'update', within: 'device' },
  answers: { 204: { description: 'Deleted' }, 404: notFound, ...errorAnswers(412) },
})
