import { z } from 'zod'
import { defineRoute } from '#api/entry'
import { filterField } from '#api/filter-field'
import { ListQuery, StateQuery } from '#api/query-field'
import { ErrorBody, refused } from '#api/refusals'
import { DeviceEntry, exampleDevice, exampleProperty, exampleService, Properties, ServiceEntry } from '#api/state-shape'
import { DeviceIdentifier, ServiceIdentifier } from '#model/identifier'
import { Meta } from '#model/meta'

/** Devices, and the state that is grouped by device. §4.2, contract 3.1–3.4, 3.7, 3.11. */

const device = z.object({ deviceIdentifier: DeviceIdentifier })
const deviceService = z.object({ deviceIdentifier: DeviceIdentifier, serviceIdentifier: ServiceIdentifier })
const read = { resource: 'service', action: 'read' } as const
const serviceExample = { serviceIdentifier: exampleService, properties: { '8192': exampleProperty } }
const notFound = {
  description: 'There is no such thing, or it lies outside of what the caller may read.',
  schema: ErrorBody,
}
export const DeviceListQuery = ListQuery.extend({ filter: filterField.optional() })
export type DeviceListQuery = z.infer<typeof DeviceListQuery>
const DeviceSecret = z.object({ deviceIdentifier: DeviceIdentifier, secret: z.string() })

export const listDevices = defineRoute({
  name: 'listDevices',
  method: 'GET',
  path: '/devices',
  source: '§4.2, contract 3.1, 3.7',
  summary: 'The state of all devices, or of those that a condition finds, grouped by device',
  access: { ...read, within: 'list' },
  hasPosition: true,
  query: DeviceListQuery,
  answers: {
    200: { description: 'Devices', schema: z.array(DeviceEntry) },
    304: { description: 'As it was' },
    ...refused(400, 401, 403),
  },
  example: {
    query: { depth: '2', filter: '{"!":{"==":[{"var":"status"},"idle"]}}' },
    status: 200,
    answer: [{ deviceIdentifier: exampleDevice, services: [serviceExample] }],
  },
})

export const createDevice = defineRoute({
  name: 'createDevice',
  method: 'POST',
  path: '/devices',
  source: 'contract 3.11',
  summary: 'Make a device before its first contact; its secret is shown once',
  access: { resource: 'device', action: 'create', within: 'tenant' },
  isSecret: true,
  body: { schema: z.strictObject({ deviceIdentifier: DeviceIdentifier, meta: Meta.optional() }) },
  answers: {
    201: { description: 'Made', schema: DeviceSecret },
    404: {
      description: 'It lies outside of the devices that the caller may make, whether it exists or not.',
      schema: ErrorBody,
    },
    409: { description: 'It exists, or would take more memory than it may', schema: ErrorBody },
    ...refused(400, 401, 403),
  },
  example: {
    body: { deviceIdentifier: 'PUMP-7', meta: { location: 'Hall 3' } },
    status: 201,
    answer: { deviceIdentifier: 'PUMP-7', secret: 'Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9vYmFyYmF6MDEyMzQ' },
  },
})

export const readDevice = defineRoute({
  name: 'readDevice',
  method: 'GET',
  path: '/devices/:deviceIdentifier',
  source: 'contract 3.3',
  summary: 'One device',
  access: { ...read, within: 'device' },
  parameters: device,
  query: StateQuery,
  answers: { 200: { description: 'The device', schema: DeviceEntry }, 404: notFound, ...refused(400, 401, 403) },
  example: {
    parameters: { deviceIdentifier: exampleDevice },
    status: 200,
    answer: { deviceIdentifier: exampleDevice, services: [serviceExample] },
  },
})

export const deleteDevice = defineRoute({
  name: 'deleteDevice',
  method: 'DELETE',
  path: '/devices/:deviceIdentifier',
  source: 'contract 3.11',
  summary: 'Remove a device with its state, meta and credentials',
  access: { resource: 'device', action: 'delete', within: 'device' },
  parameters: device,
  answers: { 204: { description: 'Removed' }, 404: notFound, ...refused(401, 403) },
  example: { parameters: { deviceIdentifier: exampleDevice }, status: 204 },
})

export const rotateDeviceSecret = defineRoute({
  name: 'rotateDeviceSecret',
  method: 'POST',
  path: '/devices/:deviceIdentifier/secret',
  source: 'contract 3.11',
  summary: 'Give a device a new secret; the old one is void and its link is closed',
  access: { resource: 'device', action: 'update', within: 'device' },
  isSecret: true,
  parameters: device,
  answers: {
    200: { description: 'The new secret, shown once', schema: DeviceSecret },
    404: notFound,
    ...refused(401, 403),
  },
  example: {
    parameters: { deviceIdentifier: exampleDevice },
    status: 200,
    answer: { deviceIdentifier: exampleDevice, secret: 'Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9vYmFyYmF6MDEyMzQ' },
  },
})

export const listDeviceServices = defineRoute({
  name: 'listDeviceServices',
  method: 'GET',
  path: '/devices/:deviceIdentifier/services',
  source: 'contract 3.3',
  summary: 'The services of one device',
  access: { ...read, within: 'device' },
  parameters: device,
  query: StateQuery,
  answers: {
    200: { description: 'Services', schema: DeviceEntry.shape.services.unwrap() },
    404: notFound,
    ...refused(400, 401, 403),
  },
  example: { parameters: { deviceIdentifier: exampleDevice }, status: 200, answer: [serviceExample] },
})

export const readDeviceService = defineRoute({
  name: 'readDeviceService',
  method: 'GET',
  path: '/devices/:deviceIdentifier/services/:serviceIdentifier',
  source: 'contract 3.3',
  summary: 'One service of one device',
  access: { ...read, within: 'service of device' },
  parameters: deviceService,
  query: StateQuery,
  answers: {
    200: { description: 'The service', schema: DeviceEntry.shape.services.unwrap().element },
    404: notFound,
    ...refused(400, 401, 403),
  },
  example: {
    parameters: { deviceIdentifier: exampleDevice, serviceIdentifier: exampleService },
    status: 200,
    answer: serviceExample,
  },
})

export const readDeviceProperties = defineRoute({
  name: 'readDeviceProperties',
  method: 'GET',
  path: '/devices/:deviceIdentifier/services/:serviceIdentifier/properties',
  source: 'contract 3.3',
  summary: 'The properties of one service of one device',
  access: { ...read, within: 'service of device' },
  parameters: deviceService,
  query: StateQuery,
  answers: { 200: { description: 'Properties', schema: Properties }, 404: notFound, ...refused(400, 401, 403) },
  example: {
    parameters: { deviceIdentifier: exampleDevice, serviceIdentifier: exampleService },
    status: 200,
    answer: { '8192': exampleProperty },
  },
})

/** The same, grouped by service: the mirror. */

const service = z.object({ serviceIdentifier: ServiceIdentifier })
const deviceExample = { deviceIdentifier: exampleDevice, properties: { '8192': exampleProperty } }

export const listServices = defineRoute({
  name: 'listServices',
  method: 'GET',
  path: '/services',
  source: '§2.3, §4.2, contract 3.1',
  summary: 'The state of all devices, grouped by service',
  access: { ...read, within: 'list' },
  hasPosition: true,
  query: ListQuery,
  answers: {
    200: { description: 'Services', schema: z.array(ServiceEntry) },
    304: { description: 'As it was' },
    ...refused(400, 401, 403),
  },
  example: {
    query: { depth: '2' },
    status: 200,
    answer: [{ serviceIdentifier: exampleService, devices: [deviceExample] }],
  },
})

export const readService = defineRoute({
  name: 'readService',
  method: 'GET',
  path: '/services/:serviceIdentifier',
  source: 'contract 3.3',
  summary: 'One service, with the devices that offer it',
  access: { ...read, within: 'service' },
  parameters: service,
  query: StateQuery,
  answers: { 200: { description: 'The service', schema: ServiceEntry }, 404: notFound, ...refused(400, 401, 403) },
  example: {
    parameters: { serviceIdentifier: exampleService },
    status: 200,
    answer: { serviceIdentifier: exampleService, devices: [deviceExample] },
  },
})

export const listServiceDevices = defineRoute({
  name: 'listServiceDevices',
  method: 'GET',
  path: '/services/:serviceIdentifier/devices',
  source: 'contract 3.3',
  summary: 'The devices that offer one service',
  access: { ...read, within: 'service' },
  parameters: service,
  query: StateQuery,
  answers: {
    200: { description: 'Devices', schema: ServiceEntry.shape.devices.unwrap() },
    404: notFound,
    ...refused(400, 401, 403),
  },
  example: { parameters: { serviceIdentifier: exampleService }, status: 200, answer: [deviceExample] },
})

export const readServiceDevice = defineRoute({
  name: 'readServiceDevice',
  method: 'GET',
  path: '/services/:serviceIdentifier/devices/:deviceIdentifier',
  source: 'contract 3.3',
  summary: 'One device that offers one service',
  access: { ...read, within: 'service of device' },
  parameters: deviceService,
  query: StateQuery,
  answers: {
    200: { description: 'The device', schema: ServiceEntry.shape.devices.unwrap().element },
    404: notFound,
    ...refused(400, 401, 403),
  },
  example: {
    parameters: { deviceIdentifier: exampleDevice, serviceIdentifier: exampleService },
    status: 200,
    answer: deviceExample,
  },
})

export const readServiceProperties = defineRoute({
  name: 'readServiceProperties',
  method: 'GET',
  path: '/services/:serviceIdentifier/devices/:deviceIdentifier/properties',
  source: 'contract 3.3',
  summary: 'The properties of one service of one device',
  access: { ...read, within: 'service of device' },
  parameters: deviceService,
  query: StateQuery,
  answers: { 200: { description: 'Properties', schema: Properties }, 404: notFound, ...refused(400, 401, 403) },
  example: {
    parameters: { deviceIdentifier: exampleDevice, serviceIdentifier: exampleService },
    status: 200,
    answer: { '8192': exampleProperty },
  },
})
