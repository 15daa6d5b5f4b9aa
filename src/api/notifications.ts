import { z } from 'zod'
import { pageFields, pathParameters, signatureField } from '#api/fields'
import { exampleFunction } from '#api/functions'
import { defineRoute, errorAnswers, ValidationBody } from '#api/route-entry'
import { ResourceIdentifier } from '#model/crn'
import { skipReasons } from '#model/delivery'
import { Timestamp } from '#model/identifier'
import { LocalePatch, SubscribeBody, SubscriptionEntry } from '#model/subscription'

/** Subscriptions of users to functions. §2.6, §3.1, §4.4, §7, contract 5.6. */

export const exampleSubscription = pathParameters.subscriptionId.example
const body = { topic: `crn#function:${exampleFunction}`, type: 'email', locale: 'de-CH' }
const example = {
  ...body,
  resourceIdentifier: `crn#subscription:${exampleSubscription}`,
  createdBy: 'crn#user:2Vb7qYx9Kd',
  createdAt: 1_790_000_000_000,
}
const notFound = { description: 'The caller has no subscription with this id' }

export const listSubscriptions = defineRoute('listSubscriptions', {
  route: 'GET /notifications/subscribe',
  summary: `List the caller's own subscriptions, in order of creation`,
  access: { resource: 'notifications', action: 'read', within: 'list' },
  hasPosition: true,
  query: z.object(pageFields),
  answers: { 200: { description: 'Subscriptions', schema: z.array(SubscriptionEntry) } },
  example: { answer: [example] },
})

export const subscribe = defineRoute('subscribe', {
  route: 'POST /notifications/subscribe',
  summary: 'Subscribe the caller to a function if they may read it and all its devices',
  access: { resource: 'notifications', action: 'create', within: 'tenant' },
  body: { schema: SubscribeBody },
  answers: {
    201: { description: 'Created', schema: z.object({ resourceIdentifier: ResourceIdentifier }) },
    400: {
      description:
        'The body is not valid; or `type` is not delivered yet, `topic` is not a function, or there are too many',
      schema: z.union([ValidationBody, z.object({ message: z.string() })]),
    },
    409: { description: 'The caller is subscribed to this topic over this transport' },
  },
  example: { body, answer: { resourceIdentifier: example.resourceIdentifier } },
})

export const updateSubscription = defineRoute('updateSubscription', {
  route: 'PATCH /notifications/subscribe/:subscriptionId',
  summary: 'Set the language of a subscription of the caller',
  access: { resource: 'notifications', action: 'update', within: 'tenant' },
  areParameterFaultsShown: true,
  body: { schema: LocalePatch },
  answers: { 200: { description: 'The subscription', schema: SubscriptionEntry }, 404: notFound },
  example: { body: { locale: 'de-CH' }, answer: example },
})

export const unsubscribe = defineRoute('unsubscribe', {
  route: 'DELETE /notifications/subscribe/:subscriptionId',
  summary: 'End a subscription of the caller',
  access: { resource: 'notifications', action: 'delete', within: 'tenant' },
  areParameterFaultsShown: true,
  answers: { 204: { description: 'Ended' }, 404: notFound },
})

/** Ends a subscription from a link in a mail, without authentication. RFC 2369, RFC 8058. */

/** The signature alone is checked: every signed link was once a subscription. */
const link = {
  access: 'none',
  parameters: z.object({ subscriptionId: z.string() }),
  query: z.object({ tenant: signatureField, user: signatureField, sig: signatureField }),
} as const
const forbidden = { description: 'The signature of the URL is not valid' }
const linkExample = {
  query: { tenant: 'default', user: 'crn#user:2Vb7qYx9Kd', sig: 'Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9vYmFyYmF6MDEyMzQ' },
} as const

export const readUnsubscribe = defineRoute('readUnsubscribe', {
  ...link,
  route: 'GET /notifications/unsubscribe/:subscriptionId',
  summary:
    'Read a page with a button that ends the subscription; reading it changes nothing, because programs follow links',
  answers: { 200: { description: 'The page', contentType: 'text/html' }, 403: forbidden },
  example: linkExample,
})

export const unsubscribeByLink = defineRoute('unsubscribeByLink', {
  ...link,
  route: 'POST /notifications/unsubscribe/:subscriptionId',
  summary: 'End the subscription, also if it has ended; any body is accepted, also none',
  answers: {
    200: { description: 'Ended, with a page for clients that accept one', contentType: 'text/html' },
    204: { description: 'Ended' },
    403: forbidden,
    ...errorAnswers(503),
  },
  example: { ...linkExample, status: 204 },
})

/** Counts of mails and their outcomes. Contract 5.7. */

const Count = z.int().min(0)

/**
 * Counts of one tenant since its creation, except `waiting`, which is the present number, and `transport`, which is for
 * all tenants. Recipients are not included. `lastError` is a code of SMTP or of this server.
 */
const Outbox = z.object({
  waiting: z.object({ requests: Count, subscribers: Count }),
  sent: Count,
  digests: Count,
  digested: Count,
  failures: z.array(z.object({ reason: z.enum(skipReasons), count: Count, lastAt: Timestamp })),
  transport: z.object({
    kind: z.enum(['smtp', 'eml']),
    state: z.enum(['ok', 'resting']),
    lastError: z.string().optional(),
  }),
})
export type Outbox = Readonly<z.infer<typeof Outbox>>

export const readOutbox = defineRoute('readOutbox', {
  route: 'GET /notifications/outbox',
  summary: 'Read how many mails wait, were sent, or were not, and why; for users with the role admin',
  access: { resource: 'notifications', action: 'update', within: 'tenant' },
  answers: { 200: { description: 'The counts', schema: Outbox } },
  example: {
    answer: {
      waiting: { requests: 2, subscribers: 1 },
      sent: 118,
      digests: 3,
      digested: 240,
      failures: [{ reason: 'no_address', count: 4, lastAt: 1_790_000_000_000 }],
      transport: { kind: 'smtp', state: 'ok' },
    },
  },
})
