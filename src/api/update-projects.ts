import { z } from 'zod'
import { pageFields } from '#api/fields'
import { changeAnswer, defineRoute, ErrorBody, errorAnswers } from '#api/route-entry'
import { exampleAuthorship, exampleDevice } from '#api/state-shape'
import { exampleFirmware, exampleProject } from '#api/updates'
import { Sha256, ShortName } from '#model/identifier'
import { firmwareIndexMax } from '#model/link-message'
import { PinBody, PinEntry, ReleaseEntry } from '#model/release'
import { RolloutBody, RolloutEntry } from '#model/rollout'

/** The embedded update server: releases of projects, pins and rollouts. Contract 6, RFC 9110 §14.4. */

/** The number of a firmware, if a device has several. */
export const indexField = z
  .string()
  .regex(/^\d{1,10}$/, 'must be a whole number')
  .transform(Number)
  .refine((index) => index <= firmwareIndexMax, `must be from 0 to ${firmwareIndexMax}`)

/** The fields that distinguish releases of one version. */
const releaseFields = { hardware: ShortName.optional(), index: indexField.optional() }
const ReleaseQuery = z.object(releaseFields)
export type ReleaseQuery = z.infer<typeof ReleaseQuery>
const UploadQuery = z.object({ ...releaseFields, sha256: Sha256.optional() })
export type UploadQuery = z.infer<typeof UploadQuery>

/** A project in a list, with its numbers of releases and pins. */
export const ProjectEntry = z.object({
  project: ShortName,
  resourceIdentifier: z.string(),
  releases: z.int().min(0),
  pins: z.int().min(0),
  rollout: RolloutEntry.nullable(),
})
export type ProjectEntry = z.infer<typeof ProjectEntry>

/** How many bytes of an image were received, and how many it has. */
const Received = z.object({ received: z.int().min(0), size: z.int().min(0) })

/** The image that the example uploads, and its SHA-256. */
export const exampleImage = 'the bytes of an image'
const exampleSha256 = 'c4cb58a7ced38a9c5f95c3035efa9e5a0d1be6bf7c28dc83377398eef1632ad4'
const exampleRelease = {
  firmware: exampleFirmware,
  index: 0,
  sha256: exampleSha256,
  size: exampleImage.length,
  createdAt: 1_790_000_000_000,
  createdBy: 'crn#user:2Vb7qYx9Kd',
}
const rolloutBody = {
  firmware: exampleFirmware,
  percent: 12.5,
  errorThresholdPercent: 7.5,
  window: { cron: '0 2 * * *', minutes: 180 },
  maxAttempts: 3,
}
const exampleRollout = {
  ...rolloutBody,
  state: 'running',
  counts: { chosen: 1250, running: 40, done: 800, failed: 3, refused: 2 },
  ...exampleAuthorship,
}

export const listProjects = defineRoute('listProjects', {
  route: 'GET /updates/projects',
  summary: 'List the projects with a release, a pin or a rollout',
  access: { resource: 'updates', action: 'read', within: 'list' },
  query: z.object(pageFields),
  answers: { 200: { description: 'Projects', schema: z.array(ProjectEntry) }, ...errorAnswers(404) },
  example: {
    answer: [
      {
        project: exampleProject,
        resourceIdentifier: `crn#project:default/${exampleProject}`,
        releases: 2,
        pins: 1,
        rollout: exampleRollout,
      },
    ],
  },
})

export const listReleases = defineRoute('listReleases', {
  route: 'GET /updates/projects/:project/releases',
  summary: 'List the releases of a project by index, hardware and precedence',
  access: { resource: 'updates', action: 'read', within: 'tenant' },
  answers: { 200: { description: 'Releases', schema: z.array(ReleaseEntry) } },
  example: { answer: [exampleRelease] },
})

export const readRelease = defineRoute('readRelease', {
  route: 'GET /updates/projects/:project/releases/:firmware',
  summary: 'Read a release',
  access: { resource: 'updates', action: 'read', within: 'tenant' },
  query: ReleaseQuery,
  answers: { 200: { description: 'The release', schema: ReleaseEntry } },
  example: { answer: exampleRelease },
})

export const putRelease = defineRoute('putRelease', {
  route: 'PUT /updates/projects/:project/releases/:firmware',
  summary: 'Upload the image of a release, whole or in parts with `Content-Range`',
  access: { resource: 'updates', action: 'update', mayCreate: true, within: 'tenant' },
  query: UploadQuery,
  // The length of the image and the received bytes are checked against IMAGE_BYTES_MAX instead.
  body: { schema: z.unknown(), contentTypes: 'any', bytesMax: Number.MAX_SAFE_INTEGER, isStreamed: true },
  answers: {
    200: { description: 'The release existed already, with the same image', schema: ReleaseEntry },
    201: { description: 'The image is stored, and offered from now on', schema: ReleaseEntry },
    202: { description: 'The part is stored; more are expected', schema: Received },
    413: { description: 'The image is larger than IMAGE_BYTES_MAX', schema: ErrorBody },
    415: { description: 'The image is compressed: it has a `Content-Encoding`', schema: ErrorBody },
    ...errorAnswers(409, 429, 503),
  },
  example: {
    parameters: { firmware: '1.5.0' },
    body: exampleImage,
    status: 201,
    answer: { ...exampleRelease, firmware: '1.5.0' },
  },
})

export const deleteRelease = defineRoute('deleteRelease', {
  route: 'DELETE /updates/projects/:project/releases/:firmware',
  summary: 'Delete a release that no pin, no rollout and no running update needs',
  access: { resource: 'updates', action: 'delete', within: 'tenant' },
  query: ReleaseQuery,
  answers: { 204: { description: 'Deleted' }, ...errorAnswers(409) },
  example: { parameters: { firmware: '1.4.1' } },
})

export const listPins = defineRoute('listPins', {
  route: 'GET /updates/projects/:project/pins',
  summary: 'List the pins of a project',
  access: { resource: 'updates', action: 'read', within: 'list' },
  query: z.object(pageFields),
  answers: { 200: { description: 'Pins, by device', schema: z.array(PinEntry) } },
  example: { answer: [{ deviceIdentifier: exampleDevice, firmware: exampleFirmware }] },
})

export const readPin = defineRoute('readPin', {
  route: 'GET /updates/projects/:project/pins/:deviceIdentifier',
  summary: 'Read the pin of a device',
  access: { resource: 'updates', action: 'read', within: 'device' },
  answers: { 200: { description: 'The pin', schema: PinBody } },
  example: { answer: { firmware: exampleFirmware } },
})

export const putPin = defineRoute('putPin', {
  route: 'PUT /updates/projects/:project/pins/:deviceIdentifier',
  summary: 'Pin a device to a version, older or newer than its own',
  access: { resource: 'updates', action: 'update', mayCreate: true, within: 'device' },
  body: { schema: PinBody },
  answers: { 200: { description: 'The pin', schema: PinBody }, ...errorAnswers(409) },
  example: { body: { firmware: exampleFirmware }, answer: { firmware: exampleFirmware } },
})

export const deletePin = defineRoute('deletePin', {
  route: 'DELETE /updates/projects/:project/pins/:deviceIdentifier',
  summary: 'Delete the pin of a device',
  access: { resource: 'updates', action: 'delete', within: 'device' },
  answers: { 204: { description: 'Deleted' } },
})

export const readRollout = defineRoute('readRollout', {
  route: 'GET /updates/projects/:project/rollout',
  summary: 'Read the rollout of a project, and its number of devices in each state',
  access: { resource: 'updates', action: 'read', within: 'tenant' },
  answers: { 200: { description: 'The rollout', schema: RolloutEntry } },
  example: { answer: exampleRollout },
})

export const putRollout = defineRoute('putRollout', {
  route: 'PUT /updates/projects/:project/rollout',
  summary: 'Create or replace a rollout of a firmware to a part of the fleet; the release may follow later',
  access: { resource: 'updates', action: 'update', mayCreate: true, within: 'tenant' },
  body: { schema: RolloutBody, acceptsNames: true },
  answers: { 200: { description: 'The rollout', schema: changeAnswer(RolloutEntry, 'state') }, ...errorAnswers(409) },
  example: { body: rolloutBody, answer: exampleRollout },
})

export const deleteRollout = defineRoute('deleteRollout', {
  route: 'DELETE /updates/projects/:project/rollout',
  summary: 'Delete a rollout: all devices are offered the newest release again',
  access: { resource: 'updates', action: 'delete', within: 'tenant' },
  answers: { 204: { description: 'Deleted' } },
})

const changeState = {
  access: { resource: 'updates', action: 'update', within: 'tenant' },
  answers: { 200: { description: 'The rollout', schema: changeAnswer(RolloutEntry, 'state') } },
} as const

export const pauseRollout = defineRoute('pauseRollout', {
  ...changeState,
  route: 'POST /updates/projects/:project/rollout/pause',
  summary: 'Pause a rollout; running updates continue',
  example: { answer: { ...exampleRollout, state: 'paused' } },
})

export const resumeRollout = defineRoute('resumeRollout', {
  ...changeState,
  route: 'POST /updates/projects/:project/rollout/resume',
  summary: 'Resume a rollout that is paused, or stopped because of failures',
  example: { answer: exampleRollout },
})
