import { z } from 'zod'
import { depthField, deviceIdentifiersField, pageFields, pathParameters, signatureField } from '#api/fields'
import { defineRoute, ErrorBody, errorAnswers, notModified } from '#api/route-entry'
import { exampleDevice } from '#api/state-shape'
import { FirmwareInformation, TriggerOutcome } from '#model/firmware'

/** Firmware of devices, and updates on request. §2.7, §3.2, §4.5, contract 6. */

/** A project of the embedded update server, for all examples. */
export const exampleProject = pathParameters.project.example
/** The firmware version of the example device. */
export const exampleFirmware = pathParameters.firmware.example
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
  summary: 'List devices whose project or firmware is known; with their firmware from depth 1',
  access: { resource: 'updates', action: 'read', within: 'list' },
  hasPosition: true,
  query: z.object({
    depth: depthField.optional(),
    ...pageFields,
    deviceIdentifier: deviceIdentifiersField.optional(),
  }),
  answers: { 200: { description: 'Devices', schema: z.array(FirmwareInformation) } },
  example: { query: { depth: '1' }, answer: [example] },
})

export const readUpdate = defineRoute('readUpdate', {
  route: 'GET /updates/:deviceIdentifier',
  summary: 'Read the firmware of a device, and the state of its update from depth 2',
  access: { resource: 'updates', action: 'read', within: 'device' },
  query: z.object({ depth: depthField.optional() }),
  answers: { 200: { description: 'Its firmware', schema: FirmwareInformation }, 404: notFound },
  example: { answer: example },
})

export const triggerUpdate = defineRoute('triggerUpdate', {
  route: 'POST /updates/:deviceIdentifier',
  summary: 'Update a device if there is a newer version, even if the device refuses automatic updates',
  access: { resource: 'updates', action: 'update', within: 'device' },
  answers: {
    200: { description: 'The result, also if it is a refusal', schema: TriggerOutcome },
    ...errorAnswers(503),
  },
  example: { answer: { status: 'DEVICE_OFFLINE' } },
})

/** Firmware images for the devices to which they were offered. Contract 6, RFC 9110 §14. */

export const readImage = defineRoute('readImage', {
  route: 'GET /updates/images/:sha256',
  summary: 'Read an image, whole or one range of it; the URL itself is the credential, and expires',
  access: 'none',
  query: z.object({ device: signatureField, exp: signatureField, sig: signatureField }),
  answers: {
    200: { description: 'The image', contentType: 'application/octet-stream' },
    206: { description: 'The requested range', contentType: 'application/octet-stream' },
    ...notModified,
    403: { description: 'The signature of the URL is not valid, or it has expired' },
    416: { description: 'The image has no such bytes; `Content-Range` contains its size' },
    ...errorAnswers(404, 503),
  },
  example: {
    query: { device: exampleDevice, exp: '1790086400000', sig: 'Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9vYmFyYmF6MDEyMzQ' },
  },
})

/** The update server calls this when it has a new release, so that devices need no polling. §4.5, contract 6. */

/** The lower-case name of the header with the signature: `t=<Unix seconds>,sha256=<hex>`. */
export const hookSignatureHeader = 'x-hook-signature'

export const callUpdateHook = defineRoute('callUpdateHook', {
  route: 'POST /updates/hook/:projectIdentifier',
  summary: 'Check which devices of a project need an update: all, or those in the body',
  access: 'hook',
  // As raw bytes, because the signature covers them; missing fields mean the whole project.
  body: { schema: z.unknown(), contentTypes: 'any' },
  answers: { 204: { description: 'The check is stored and will run' }, ...errorAnswers(403, 503) },
  example: { body: { event: 'release', devices: [exampleDevice] } },
})
