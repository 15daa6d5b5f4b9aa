import { z } from 'zod'
import { pageFields, pathParameters } from '#api/fields'
import { defineRoute, ErrorBody, errorAnswers } from '#api/route-entry'
import { exampleDevice, exampleService } from '#api/state-shape'
import { ActionBody, ActionEntry, zeroCounts } from '#model/action'
import { PropertyId, ServerMadeId } from '#model/identifier'
import { PropertyWrites } from '#model/property-write'

/** Writes to properties of a device, in both groupings. §1.1, contract 3.5. */

/** About as much as devices accept in one message. */
const writeBytesMax = 256 * 1024

const update = { resource: 'service', action: 'update', within: 'service of device' } as const

/** The results, one for each property, in the order of the body. */
export const WriteAnswer = z.object({
  updates: z.array(
    z.object({
      propId: PropertyId,
      status: z.enum(['OK', 'REJECTED', 'SENT']),
      message: z.string().optional(),
    }),
  ),
})

/** `wait` is not one of the booleans of contract 1.5, but the number of answers to wait for. */
const WriteQuery = z.object({
  wait: z
    .enum(['0', '1'], { error: 'must be 0 or 1' })
    .transform((text) => text === '1')
    .optional(),
})

const body = { schema: PropertyWrites, bytesMax: writeBytesMax }
const answers = {
  200: { description: 'The device answered', schema: WriteAnswer },
  202: { description: 'With `wait=0`: the write was sent', schema: WriteAnswer },
  404: {
    description: `The device, service or property does not exist, or lies outside of the caller's grants`,
    schema: ErrorBody,
  },
  409: { description: '`DEVICE_OFFLINE`: the device is not connected; nothing was sent', schema: ErrorBody },
  413: { description: 'More than a device accepts at once', schema: ErrorBody },
  504: { description: '`DEVICE_TIMEOUT`: no answer in time; the device may still apply it', schema: ErrorBody },
  ...errorAnswers(429, 503),
}
const example = {
  body: { '0x2000': 22.5 },
  answer: { updates: [{ propId: 8192, status: 'OK' }] },
}

const write = {
  summary: 'Write properties of one service of a device',
  access: update,
  query: WriteQuery,
  body,
  answers,
  example,
} as const

export const writeDeviceProperties = defineRoute('writeDeviceProperties', {
  ...write,
  route: 'PUT /devices/:deviceIdentifier/services/:serviceIdentifier/properties',
})

export const writeServiceProperties = defineRoute('writeServiceProperties', {
  ...write,
  route: 'PUT /services/:serviceIdentifier/devices/:deviceIdentifier/properties',
})

/** Actions: one write to many devices. Contract 3.6. */

export const exampleAction = pathParameters.actionId.example
const actionBody = { devices: [exampleDevice], serviceIdentifier: exampleService, updates: { '0x2000': 22.5 } }

export const createAction = defineRoute('createAction', {
  route: 'POST /devices/actions',
  summary: 'Write properties of one service of many devices',
  access: { resource: 'service', action: 'update', within: 'tenant' },
  body: { schema: ActionBody, acceptsNames: true },
  answers: {
    202: { description: 'The action is stored and will run', schema: z.object({ id: ServerMadeId }) },
    ...errorAnswers(404, 409, 503),
  },
  example: { body: actionBody, answer: { id: exampleAction } },
})

export const readAction = defineRoute('readAction', {
  route: 'GET /devices/actions/:actionId',
  summary: 'Read an action and its outcome for each device',
  access: { resource: 'service', action: 'read', within: 'tenant' },
  query: z.object(pageFields),
  answers: { 200: { description: 'The action', schema: ActionEntry }, ...errorAnswers(503) },
  example: {
    answer: {
      id: exampleAction,
      state: 'done',
      createdAt: 1_790_000_000_000,
      createdBy: 'crn#user:2Vb7qYx9Kd',
      serviceIdentifier: exampleService,
      updates: { '0x2000': 22.5 },
      counts: { ...zeroCounts(), total: 1, OK: 1 },
      devices: [{ deviceIdentifier: exampleDevice, status: 'OK' }],
    },
  },
})
