import { z } from 'zod'
import { pageFields, pathParameters } from '#api/fields'
import { changeAnswer, defineRoute, errorAnswers, notModified } from '#api/route-entry'
import { exampleAuthorship, exampleDevice, exampleService } from '#api/state-shape'
import { exampleTemplate } from '#api/templates'
import { FunctionBody, FunctionEntry, FunctionPatch } from '#model/function'
import { DeviceIdentifier, ShortName, Timestamp } from '#model/identifier'
import { Meta } from '#model/meta'
import { PropertyValue } from '#model/property-type'
import { Locale } from '#model/subscription'
import { WebhookDelivery } from '#model/webhook'

/** Functions that run on events of devices. Contract 2, 5.1, 5.4, 12. */

export const exampleFunction = pathParameters.functionId.example
const body = {
  name: 'Heat',
  enabled: true,
  binding: { devices: [exampleDevice] },
  graph: {
    nodes: [
      { id: 'heat', type: 'trigger', on: 'property', serviceIdentifier: exampleService, propId: 8192 },
      { id: 'hot', type: 'condition', logic: { '>': [{ var: 'value' }, 30] } },
      { id: 'hourly', type: 'throttle', seconds: 3600 },
      { id: 'tell', type: 'email', template: exampleTemplate },
    ],
    edges: [
      ['heat', 'hot'],
      ['hot', 'hourly'],
      ['hourly', 'tell'],
    ],
  },
}
const example = {
  ...body,
  resourceIdentifier: `crn#function:${exampleFunction}`,
  ...exampleAuthorship,
}

/** A value of a property, an alarm (true: active) or a status; null: none. */
const EventValue = PropertyValue.nullable()

/**
 * The input of a test run; nothing is read from devices. `trigger`: a node; if absent, the run begins at each trigger
 * that `value` fires. `value`: if absent, the `to` of the trigger. `time` in Unix ms.
 */
const Sample = z.strictObject({
  trigger: ShortName.optional(),
  deviceIdentifier: DeviceIdentifier.optional(),
  value: EventValue.optional(),
  previous: EventValue.optional(),
  meta: Meta.optional(),
  time: Timestamp.optional(),
  locale: Locale.optional(),
})
export type Sample = z.infer<typeof Sample>

/** Why a mail would not be sent; `left_out`: it would be sent, but makes the answer too long. */
const mailFaults = ['no_template', 'too_large', 'left_out'] as const

/** A mail that would be sent, with its node, or the reason why it is missing. */
export const TriedMail = z.union([
  z.object({
    node: ShortName,
    template: ShortName,
    locale: Locale,
    subject: z.string(),
    text: z.string(),
    html: z.string().optional(),
  }),
  z.object({ node: ShortName, template: ShortName, error: z.enum(mailFaults) }),
])
export type TriedMail = Readonly<z.infer<typeof TriedMail>>

/** `path`: the visited nodes, in order, each once. `because`: `false`, `error` or `no value: <name>`. */
export const TriedFunction = z.object({
  path: z.array(ShortName),
  stopped: z.array(z.object({ node: ShortName, because: z.string() })),
  mails: z.array(TriedMail),
})
export type TriedFunction = Readonly<z.infer<typeof TriedFunction>>

export const listFunctions = defineRoute('listFunctions', {
  route: 'GET /functions',
  summary: 'List the functions of which the caller may read all devices',
  access: { resource: 'functions', action: 'read', within: 'list' },
  query: z.object(pageFields),
  answers: { 200: { description: 'Functions', schema: z.array(FunctionEntry) } },
  example: { answer: [example] },
})

export const createFunction = defineRoute('createFunction', {
  route: 'POST /functions',
  summary: 'Create a function that sends mails and webhooks on events of devices that the caller may read',
  access: { resource: 'functions', action: 'create', within: 'tenant' },
  body: { schema: FunctionBody, acceptsNames: true },
  answers: { 201: { description: 'Created', schema: FunctionEntry }, ...errorAnswers(404, 409) },
  example: { body, answer: example },
})

export const readFunction = defineRoute('readFunction', {
  route: 'GET /functions/:functionId',
  summary: 'Read a function',
  access: { resource: 'functions', action: 'read', within: 'tenant' },
  answers: { 200: { description: 'The function', schema: FunctionEntry }, ...notModified },
  example: { answer: example },
})

export const updateFunction = defineRoute('updateFunction', {
  route: 'PATCH /functions/:functionId',
  summary: `Change a function; from then on the caller's permissions count for it`,
  access: { resource: 'functions', action: 'update', within: 'tenant' },
  body: { schema: FunctionPatch, acceptsNames: true },
  answers: { 200: { description: 'The function', schema: changeAnswer(FunctionEntry) }, ...errorAnswers(409, 412) },
  example: { body, answer: example },
})

export const deleteFunction = defineRoute('deleteFunction', {
  route: 'DELETE /functions/:functionId',
  summary: 'Delete a function; its subscriptions end',
  access: { resource: 'functions', action: 'delete', within: 'tenant' },
  answers: { 204: { description: 'Deleted' }, ...errorAnswers(412) },
})

export const listDeliveries = defineRoute('listDeliveries', {
  route: 'GET /functions/:functionId/deliveries',
  summary: 'List the last 100 webhooks of a function, the latest first; without their contents',
  access: { resource: 'functions', action: 'read', within: 'tenant' },
  answers: { 200: { description: 'Webhooks', schema: z.array(WebhookDelivery) } },
  example: {
    answer: [
      {
        id: 'msg_AAAvYmFyYmF6cXV4eHl6ew',
        node: 'call',
        status: 'DELIVERED',
        time: 1_795_132_802_000,
        attempts: 1,
        httpStatus: 204,
      },
      {
        id: 'msg_Zm9vYmFyYmF6cXV4eHl6ew',
        node: 'call',
        status: 'WAITING',
        time: 1_795_132_801_000,
        attempts: 2,
        httpStatus: 503,
        nextAt: 1_795_132_836_000,
      },
    ],
  },
})

export const testFunction = defineRoute('testFunction', {
  route: 'POST /functions/:functionId/test',
  summary: 'Test a function: its path through the graph, and its mails; nothing is sent',
  access: { resource: 'functions', action: 'read', within: 'tenant' },
  body: { schema: z.strictObject({ sample: Sample }) },
  answers: { 200: { description: 'The result of the test', schema: TriedFunction } },
  example: {
    body: { sample: { deviceIdentifier: exampleDevice, value: 31.5, previous: 29, locale: 'de-CH' } },
    answer: {
      path: ['heat', 'hot', 'hourly', 'tell'],
      stopped: [],
      mails: [
        { node: 'tell', template: exampleTemplate, locale: 'de', subject: 'Zu warm', text: 'SENSOR-1: 31.5, war 29' },
      ],
    },
  },
})
