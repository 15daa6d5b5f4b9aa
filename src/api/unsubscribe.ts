import { z } from 'zod'
import { defineRoute } from '#api/entry'
import { errorAnswers } from '#api/error-answers'
import { exampleSubscription } from '#api/subscriptions'

/** Ends a subscription from a link in a mail, without authentication. RFC 2369, RFC 8058. */

/** An invalid field counts as empty: then the signature does not match. */
const signed = z.string().catch('').default('')

/** The signature alone is checked: every signed link was once a subscription. */
const link = {
  access: 'none',
  parameters: z.object({ subscriptionId: z.string() }),
  query: z.object({ tenant: signed, user: signed, sig: signed }),
} as const
const forbidden = { description: 'The signature of the URL is not valid' }
const example = {
  parameters: { subscriptionId: exampleSubscription },
  query: { tenant: 'default', user: 'crn#user:2Vb7qYx9Kd', sig: 'Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9vYmFyYmF6MDEyMzQ' },
} as const

export const readUnsubscribe = defineRoute('readUnsubscribe', {
  ...link,
  route: 'GET /notifications/unsubscribe/:subscriptionId',
  source: 'contract 5.7, RFC 2369',
  summary:
    'Read a page with a button that ends the subscription; reading it changes nothing, because programs follow links',
  answers: { 200: { description: 'The page', contentType: 'text/html' }, 403: forbidden, ...errorAnswers(400) },
  example: { ...example, status: 200 },
})

export const unsubscribeByLink = defineRoute('unsubscribeByLink', {
  ...link,
  route: 'POST /notifications/unsubscribe/:subscriptionId',
  source: 'contract 5.7, RFC 8058',
  summary: 'End the subscription, also if it has ended; any body is accepted, also none',
  answers: {
    200: { description: 'Ended, with a page for clients that accept one', contentType: 'text/html' },
    204: { description: 'Ended' },
    403: forbidden,
    ...errorAnswers(400, 503),
  },
  example: { ...example, status: 204 },
})
