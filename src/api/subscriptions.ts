import { z } from 'zod'
import { defineRoute } from '#api/entry'
import { errorAnswers, ValidationBody } from '#api/error-answers'
import { exampleFunction } from '#api/functions'
import { pageFields } from '#api/query-field'
import { ResourceIdentifier } from '#model/crn'
import { LocalePatch, SubscribeBody, SubscriptionEntry, SubscriptionId } from '#model/subscription'

/** Subscriptions of users to functions. §2.6, §3.1, §4.4, §7, contract 5.6. */

const subscription = z.object({ subscriptionId: SubscriptionId })
export const exampleSubscription = '9Pw3tKc8Lb'
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
  source: '§2.6, §4.4',
  summary: `List the caller's own subscriptions, in order of creation`,
  access: { resource: 'notifications', action: 'read', within: 'list' },
  hasPosition: true,
  query: z.object(pageFields),
  answers: {
    200: { description: 'Subscriptions', schema: z.array(SubscriptionEntry) },
    ...errorAnswers(400, 401, 403),
  },
  example: { status: 200, answer: [example] },
})

export const subscribe = defineRoute('subscribe', {
  route: 'POST /notifications/subscribe',
  source: '§2.6, §3.1, §4.4, §7, contract 5.6',
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
    ...errorAnswers(401, 403),
  },
  example: { body, status: 201, answer: { resourceIdentifier: example.resourceIdentifier } },
})

export const updateSubscription = defineRoute('updateSubscription', {
  route: 'PATCH /notifications/subscribe/:subscriptionId',
  source: '§2.6, §3.1, §4.4, §7',
  summary: 'Set the language of a subscription of the caller',
  access: { resource: 'notifications', action: 'update', within: 'tenant' },
  parameters: subscription,
  areParameterFaultsShown: true,
  body: { schema: LocalePatch },
  answers: {
    200: { description: 'The subscription', schema: SubscriptionEntry },
    404: notFound,
    ...errorAnswers(400, 401, 403),
  },
  example: {
    parameters: { subscriptionId: exampleSubscription },
    body: { locale: 'de-CH' },
    status: 200,
    answer: example,
  },
})

export const unsubscribe = defineRoute('unsubscribe', {
  route: 'DELETE /notifications/subscribe/:subscriptionId',
  source: '§2.6, §3.1, §4.4, §7',
  summary: 'End a subscription of the caller',
  access: { resource: 'notifications', action: 'delete', within: 'tenant' },
  parameters: subscription,
  areParameterFaultsShown: true,
  answers: { 204: { description: 'Ended' }, 404: notFound, ...errorAnswers(400, 401, 403) },
  example: { parameters: { subscriptionId: exampleSubscription }, status: 204 },
})
