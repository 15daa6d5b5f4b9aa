import { z } from 'zod'
import { filterField, ListQuery, StateQuery, searchField } from '#api/fields'
import { defineRoute, ErrorBody, notModified } from '#api/route-entry'
import { DeviceEntry, exampleDevice, exampleProperty, exampleService, Properties, ServiceEntry } from '#api/state-shape'
import { DeviceIdentifier, isDeviceToken } from '#model/identifier'
import { Meta } from '#model/meta'

/** Devices, and their state by device. §4.2, contract 3.1–3.4, 3.7, 3.11, 10, 12. */

const read = { resource: 'service', action: 'read' } as const
const serviceExample = { serviceIdentifier: exampleService, properties: { '8192': exampleProperty } }
const notFound = {
  description: 'The resource does not exist, or the caller may not read it.',
  schema: ErrorBody,
}
/** The answers to reads of one resource. */
function readAnswers<S extends z.ZodType>(description: string, schema: S) {
  return { 200: { description, schema }, 404: notFound }
}
export const DeviceListQuery = ListQuery.extend({ filter: filterField.optional(), search: searchField.optional() })
export type DeviceListQuery = z.infer<typeof DeviceListQuery>
const DeviceSecret = z.object({ deviceIdentifier: DeviceIdentifier, secret: z.string() })

export const listDevices = defineRoute('listDevices', {
  route: 'GET /devices',
  summary: 'Read the state of all devices, or of those that meet a condition or contain some words, by device',
  access: { ...read, within: 'list' },
  hasPosition: true,
  query: DeviceListQuery,
  answers: { 200: { description: 'Devices', schema: z.array(DeviceEntry) }, ...notModified },
  example: {
    query: { depth: '2', filter: '{"!":{"==":[{"var":"status"},"idle"]}}' },
    answer: [{ deviceIdentifier: exampleDevice, services: [serviceExample] }],
  },
})

export const createDevice = defineRoute('createDevice', {
  route: 'POST /devices',
  summary: 'Create a device before it first connects; its secret is shown once',
  access: { resource: 'device', action: 'create', within: 'tenant' },
  isSecret: true,
  body: { schema: z.strictObject({ deviceIdentifier: DeviceIdentifier, meta: Meta.optional() }) },
  answers: {
    201: { description: 'Created', schema: DeviceSecret },
    404: {
      description:
        'The caller may not create a device with this identifier. The answer is the same whether or not it exists.',
      schema: ErrorBody,
    },
    409: { description: 'The device exists, or would exceed its memory limit', schema: ErrorBody },
  },
  example: {
    body: { deviceIdentifier: 'PUMP-7', meta: { location: 'Hall 3' } },
    answer: { deviceIdentifier: 'PUMP-7', secret: 'Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9vYmFyYmF6MDEyMzQ' },
  },
})

export const readDevice = defineRoute('readDevice', {
  route: 'GET /devices/:deviceIdentifier',
  summary: 'Read a device',
  access: { ...read, within: 'device' },
  query: StateQuery,
  answers: readAnswers('The device', DeviceEntry),
  example: { answer: { deviceIdentifier: exampleDevice, services: [serviceExample] } },
})

export const readConnection = defineRoute('readConnection', {
  route: 'GET /devices/:deviceIdentifier/connection',
  summary: 'Read how a device is connected',
  access: { resource: 'meta', action: 'read', within: 'device' },
  answers: {
    200: {
      description: 'The protocol; null: the device is not connected',
      schema: z.object({ protocol: z.enum(['websocket', 'mqtt']).nullable() }),
    },
    404: notFound,
  },
  example: { answer: { protocol: null } },
})

export const deleteDevice = defineRoute('deleteDevice', {
  route: 'DELETE /devices/:deviceIdentifier',
  summary: 'Delete a device with its state, metadata and credentials',
  access: { resource: 'device', action: 'delete', within: 'device' },
  answers: { 204: { description: 'Deleted' }, 404: notFound },
})

export const rotateDeviceSecret = defineRoute('rotateDeviceSecret', {
  route: 'POST /devices/:deviceIdentifier/secret',
  summary: `Replace a device's secret; the old one is void, and the connection of the device is closed`,
  access: { resource: 'device', action: 'update', within: 'device' },
  isSecret: true,
  answers: { 200: { description: 'The new secret, shown once', schema: DeviceSecret }, 404: notFound },
  example: { answer: { deviceIdentifier: exampleDevice, secret: 'Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9vYmFyYmF6MDEyMzQ' } },
})

export const setDeviceToken = defineRoute('setDeviceToken', {
  route: 'POST /devices/:deviceIdentifier/token',
  summary: 'Set the token with which a device signs in over MQTT without a password; connections with the old one end',
  access: { resource: 'device', action: 'update', within: 'device' },
  isSecret: true,
  body: {
    schema: z
      .strictObject({
        token: z
          .string()
          .refine(isDeviceToken, 'must be 16 to 64 printable ASCII characters without spaces')
          .optional(),
      })
      .optional(),
  },
  answers: {
    200: {
      description: 'The token, shown once: the given one, or a new one',
      schema: z.object({ deviceIdentifier: DeviceIdentifier, token: z.string() }),
    },
    404: notFound,
    409: { description: 'Another device has this token', schema: ErrorBody },
  },
  example: {
    body: { token: 'A1_TEST_TOKEN_OF_A_METER' },
    answer: { deviceIdentifier: exampleDevice, token: 'A1_TEST_TOKEN_OF_A_METER' },
  },
})

export const listDeviceServices = defineRoute('listDeviceServices', {
  route: 'GET /devices/:deviceIdentifier/services',
  summary: 'Read the services of a device',
  access: { ...read, within: 'device' },
  query: StateQuery,
  answers: readAnswers('Services', DeviceEntry.shape.services.unwrap()),
  example: { answer: [serviceExample] },
})

export const readDeviceService = defineRoute('readDeviceService', {
  route: 'GET /devices/:deviceIdentifier/services/:serviceIdentifier',
  summary: 'Read a service of a device',
  access: { ...read, within: 'service of device' },
  query: StateQuery,
  answers: readAnswers('The service', DeviceEntry.shape.services.unwrap().element),
  example: { answer: serviceExample },
})

export const readDeviceProperties = defineRoute('readDeviceProperties', {
  route: 'GET /devices/:deviceIdentifier/services/:serviceIdentifier/properties',
  summary: 'Read the properties of a service of a device',
  access: { ...read, within: 'service of device' },
  query: StateQuery,
  answers: readAnswers('Properties', Properties),
  example: { answer: { '8192': exampleProperty } },
})

/** The same state by service. §2.3. */

const deviceExample = { deviceIdentifier: exampleDevice, properties: { '8192': exampleProperty } }

export const listServices = defineRoute('listServices', {
  route: 'GET /services',
  summary: 'Read the state of all devices, by service',
  access: { ...read, within: 'list' },
  hasPosition: true,
  query: ListQuery,
  answers: { 200: { description: 'Services', schema: z.array(ServiceEntry) }, ...notModified },
  example: { query: { depth: '2' }, answer: [{ serviceIdentifier: exampleService, devices: [deviceExample] }] },
})

export const readService = defineRoute('readService', {
  route: 'GET /services/:serviceIdentifier',
  summary: 'Read a service, with the devices that offer it',
  access: { ...read, within: 'service' },
  query: StateQuery,
  answers: readAnswers('The service', ServiceEntry),
  example: { answer: { serviceIdentifier: exampleService, devices: [deviceExample] } },
})

export const listServiceDevices = defineRoute('listServiceDevices', {
  route: 'GET /services/:serviceIdentifier/devices',
  summary: 'Read the devices that offer a service',
  access: { ...read, within: 'service' },
  query: StateQuery,
  answers: readAnswers('Devices', ServiceEntry.shape.devices.unwrap()),
  example: { answer: [deviceExample] },
})

export const readServiceDevice = defineRoute('readServiceDevice', {
  route: 'GET /services/:serviceIdentifier/devices/:deviceIdentifier',
  summary: 'Read a device that offers a service',
  access: { ...read, within: 'service of device' },
  query: StateQuery,
  answers: readAnswers('The device', ServiceEntry.shape.devices.unwrap().element),
  example: { answer: deviceExample },
})

export const readServiceProperties = defineRoute('readServiceProperties', {
  route: 'GET /services/:serviceIdentifier/devices/:deviceIdentifier/properties',
  summary: 'Read the properties of a service of a device',
  access: { ...read, within: 'service of device' },
  query: StateQuery,
  answers: readAnswers('Properties', Properties),
  example: { answer: { '8192': exampleProperty } },
})
