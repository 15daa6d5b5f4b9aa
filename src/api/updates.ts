import { z } from 'zod'
import { defineRoute } from '#api/entry'
import { ErrorBody, errorAnswers } from '#api/error-answers'
import { depthField, deviceIdentifiersField, pageFields } from '#api/query-field'
import { exampleDevice } from '#api/state-shape'
import { FirmwareInformation, TriggerOutcome } from '#model/firmware'
import { DeviceIdentifier } from '#model/identifier'

/** Firmware of devices, and updates on request. §2.7, §3.2, §4.5, contract 6. */

const device = z.object({ deviceIdentifier: DeviceIdentifier })
/** A project of the embedded update server, for all examples. */
export const exampleProject = 'boiler'
/** The version on its device. */
export const exampleFirmware = '1.4.2'
const example = {
  deviceIdentifier: exampleDevice,
  project: exampleProject,
  firmwares: [{ firmware: exampleFirmware, hardware: 'rev-b', index: 0, updateAvailable: false }],
}
const notFound = {
  description: `The firmware of the device is unknown, or the device lies outside of the caller's grants.`,
  schema: ErrorBody,
}

export const listUpdates = defineRoute('listUpdates', {
  route: 'GET /updates',
  source: '§4.5, contract 6',
  summary: 'List devices whose project or firmware is known; with their firmware from depth 1',
  access: { resource: 'updates', action: 'read', within: 'list' },
  hasPosition: true,
  query: z.object({
    depth: depthField.optional(),
    ...pageFields,
    deviceIdentifier: deviceIdentifiersField.optional(),
  }),
  answers: { 200: { description: 'Devices', schema: z.array(FirmwareInformation) }, ...errorAnswers(400, 401, 403) },
  example: { query: { depth: '1' }, status: 200, answer: [example] },
})

export const readUpdate = defineRoute('readUpdate', {
  route: 'GET /updates/:deviceIdentifier',
  source: '§2.7, §4.5, contract 6',
  summary: 'Read the firmware of a device, and the state of its update from depth 2',
  access: { resource: 'updates', action: 'read', within: 'device' },
  parameters: device,
  query: z.object({ depth: depthField.optional() }),
  answers: {
    200: { description: 'Its firmware', schema: FirmwareInformation },
    404: notFound,
    ...errorAnswers(400, 401, 403),
  },
  example: { parameters: { deviceIdentifier: exampleDevice }, status: 200, answer: example },
})

export const triggerUpdate = defineRoute('triggerUpdate', {
  route: 'POST /updates/:deviceIdentifier',
  source: '§3.2, §4.5, contract 6',
  summary: 'Update a device if there is a newer version; also one that refuses automatic updates',
  access: { resource: 'updates', action: 'update', within: 'device' },
  parameters: device,
  answers: {
    200: { description: 'The result, also if it is a refusal', schema: TriggerOutcome },
    ...errorAnswers(401, 403, 404, 503),
  },
  example: {
    parameters: { deviceIdentifier: exampleDevice },
    status: 200,
    answer: { status: 'DEVICE_OFFLINE' },
  },
})
