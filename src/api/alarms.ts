import { z } from 'zod'
import { logFields } from '#api/audit'
import { booleanField, deviceIdentifiersField, pageFields, pathParameters } from '#api/fields'
import { changeAnswer, defineRoute, errorAnswers, notModified } from '#api/route-entry'
import { exampleAuthorship, exampleDevice, exampleService } from '#api/state-shape'
import { AcknowledgeBody, Acknowledgement, AlarmBody, AlarmEntry, Severity } from '#model/alarm'
import { ResourceIdentifier } from '#model/crn'
import { DeviceIdentifier, ServerMadeId, Timestamp } from '#model/identifier'

/** Alarms and their states on devices. §1.3, contract 5.3, 12. */

export const exampleAlarm = pathParameters.alarmId.example
const body = {
  name: 'Too warm',
  severity: 'warning',
  serviceIdentifier: exampleService,
  condition: { '>': [{ var: '0x2000' }, 30] },
  forSeconds: 60,
  devices: [exampleDevice],
}
const example = {
  ...body,
  resourceIdentifier: `crn#alarm:${exampleAlarm}`,
  ...exampleAuthorship,
}

const exampleStatus = {
  resourceIdentifier: `crn#alarm:${exampleAlarm}`,
  deviceIdentifier: exampleDevice,
  active: true,
  since: 1_790_000_000_000,
  severity: 'warning',
  acknowledged: null,
}

/** The state of an alarm on a device on which it is or was active. `since`: the last change of `active`, Unix ms. */
export const AlarmStatusRow = z.object({
  resourceIdentifier: ResourceIdentifier,
  deviceIdentifier: DeviceIdentifier,
  active: z.boolean(),
  since: Timestamp,
  /** Absent for an alarm that was just deleted. */
  severity: Severity.optional(),
  /** Null: the alarm was not acknowledged since it last became active. */
  acknowledged: Acknowledgement.nullable(),
})

export const AlarmStatusQuery = z.object({
  ...pageFields,
  active: booleanField.optional(),
  deviceIdentifier: deviceIdentifiersField.optional(),
})
export type AlarmStatusQuery = z.infer<typeof AlarmStatusQuery>

/** A change or an acknowledgement of an alarm on a device. `at`: Unix ms. Contract 12. */
export const AlarmHistoryRow = z.object({
  resourceIdentifier: ResourceIdentifier,
  deviceIdentifier: DeviceIdentifier,
  type: z.enum(['ACTIVE', 'INACTIVE', 'ACKNOWLEDGED']),
  at: Timestamp,
  by: z.string().optional(),
  comment: z.string().optional(),
  value: z.unknown().optional(),
})

export const AlarmHistoryQuery = z.object({
  ...logFields,
  alarmId: ServerMadeId.optional(),
  deviceIdentifier: deviceIdentifiersField.optional(),
})
export type AlarmHistoryQuery = z.infer<typeof AlarmHistoryQuery>

export const listAlarms = defineRoute('listAlarms', {
  route: 'GET /alarms',
  summary: 'List the alarms of which the caller may read all devices',
  access: { resource: 'alarms', action: 'read', within: 'list' },
  query: z.object(pageFields),
  answers: { 200: { description: 'Alarms', schema: z.array(AlarmEntry) } },
  example: { answer: [example] },
})

export const createAlarm = defineRoute('createAlarm', {
  route: 'POST /alarms',
  summary: 'Create an alarm on devices whose service the caller may read',
  access: { resource: 'alarms', action: 'create', within: 'tenant' },
  body: { schema: AlarmBody, acceptsNames: true },
  answers: { 201: { description: 'Created', schema: AlarmEntry }, ...errorAnswers(404, 409, 429) },
  example: { body, answer: example },
})

export const readAlarm = defineRoute('readAlarm', {
  route: 'GET /alarms/:alarmId',
  summary: 'Read an alarm',
  access: { resource: 'alarms', action: 'read', within: 'tenant' },
  answers: { 200: { description: 'The alarm', schema: AlarmEntry }, ...notModified },
  example: { answer: example },
})

export const putAlarm = defineRoute('putAlarm', {
  route: 'PUT /alarms/:alarmId',
  summary: `Replace an alarm; from then on the caller's permissions count for it`,
  access: { resource: 'alarms', action: 'update', within: 'tenant' },
  body: { schema: AlarmBody, acceptsNames: true },
  answers: { 200: { description: 'The alarm', schema: changeAnswer(AlarmEntry) }, ...errorAnswers(409, 412, 429) },
  example: { body, answer: example },
})

export const deleteAlarm = defineRoute('deleteAlarm', {
  route: 'DELETE /alarms/:alarmId',
  summary: 'Delete an alarm; it ends on all devices',
  access: { resource: 'alarms', action: 'delete', within: 'tenant' },
  answers: { 204: { description: 'Deleted' }, ...errorAnswers(412) },
})

export const listAlarmStatus = defineRoute('listAlarmStatus', {
  route: 'GET /alarms/status',
  summary: 'List the devices on which alarms are or were active',
  access: { resource: 'alarms', action: 'read', within: 'list' },
  hasPosition: true,
  query: AlarmStatusQuery,
  answers: { 200: { description: 'A row for each alarm and device', schema: z.array(AlarmStatusRow) } },
  example: { query: { active: 'true' }, answer: [exampleStatus] },
})

export const acknowledgeAlarm = defineRoute('acknowledgeAlarm', {
  route: 'POST /alarms/:alarmId/status/:deviceIdentifier/acknowledge',
  summary: 'Acknowledge an alarm on a device; the acknowledgement counts until the alarm becomes active again',
  access: { resource: 'alarms', action: 'update', within: 'device' },
  body: { schema: AcknowledgeBody },
  answers: {
    200: { description: 'The status of the alarm on the device', schema: changeAnswer(AlarmStatusRow) },
    ...errorAnswers(429),
  },
  example: {
    body: { comment: 'A technician is on the way' },
    answer: {
      ...exampleStatus,
      acknowledged: { by: 'crn#user:5Tz8vKq3Mn', at: 1_790_000_060_000, comment: 'A technician is on the way' },
    },
  },
})

export const listAlarmHistory = defineRoute('listAlarmHistory', {
  route: 'GET /alarms/history',
  summary: 'List the changes and acknowledgements of alarms of the last 90 days, newest first',
  access: { resource: 'alarms', action: 'read', within: 'list' },
  query: AlarmHistoryQuery,
  answers: { 200: { description: 'Changes and acknowledgements', schema: z.array(AlarmHistoryRow) } },
  example: {
    query: { alarmId: exampleAlarm, from: '-7d', limit: '100' },
    answer: [
      {
        ...{ resourceIdentifier: `crn#alarm:${exampleAlarm}`, deviceIdentifier: exampleDevice },
        ...{ type: 'ACTIVE', at: 1_790_000_000_000, value: 31.5 },
      },
    ],
  },
})
