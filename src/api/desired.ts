import { defineRoute, errorAnswers } from '#api/route-entry'
import { DesiredValues } from '#model/desired'
import { PropertyWrites } from '#model/property-write'

/** Desired values of a service of a device, in both groupings. Contract 12. */

const bodyBytesMax = 256 * 1024

const update = { resource: 'service', action: 'update', within: 'service of device' } as const
const body = { schema: PropertyWrites, bytesMax: bodyBytesMax }
const description = 'The desired values of the service, by decimal propId'
const example = {
  answer: { '8192': { value: 22.5, since: 1_790_000_000_000, status: 'PENDING' } },
}

const read = {
  summary: 'Read the desired values of a service of a device',
  access: { ...update, action: 'read' },
  answers: { 200: { description, schema: DesiredValues } },
  example,
} as const

const change = {
  access: update,
  body,
  answers: {
    200: { description: `${description}; \`{}\` for callers who may not read them`, schema: DesiredValues },
    ...errorAnswers(409, 429, 503),
  },
  example: { ...example, body: { '0x2000': 22.5 } },
} as const

const put = { ...change, summary: 'Replace the desired values of a service of a device' } as const
const patch = { ...change, summary: 'Change some desired values of a service of a device; null removes one' } as const

const remove = {
  summary: 'Remove all desired values of a service of a device',
  access: update,
  answers: { 204: { description: 'Removed' }, ...errorAnswers(503) },
} as const

const ofDevice = '/devices/:deviceIdentifier/services/:serviceIdentifier/desired'
const ofService = '/services/:serviceIdentifier/devices/:deviceIdentifier/desired'

export const readDeviceDesired = defineRoute('readDeviceDesired', { ...read, route: `GET ${ofDevice}` })
export const readServiceDesired = defineRoute('readServiceDesired', { ...read, route: `GET ${ofService}` })
export const putDeviceDesired = defineRoute('putDeviceDesired', { ...put, route: `PUT ${ofDevice}` })
export const putServiceDesired = defineRoute('putServiceDesired', { ...put, route: `PUT ${ofService}` })
export const patchDeviceDesired = defineRoute('patchDeviceDesired', { ...patch, route: `PATCH ${ofDevice}` })
export const patchServiceDesired = defineRoute('patchServiceDesired', { ...patch, route: `PATCH ${ofService}` })
export const deleteDeviceDesired = defineRoute('deleteDeviceDesired', { ...remove, route: `DELETE ${ofDevice}` })
export const deleteServiceDesired = defineRoute('deleteServiceDesired', { ...remove, route: `DELETE ${ofService}` })
