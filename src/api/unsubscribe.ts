import { z } from 'zod'
import { defineRoute } from '#api/entry'
import { refused } from '#api/refusals'
import { exampleSubscription } from '#api/subscriptions'

/** The end of a subscription, for whoever has a mail that came by it and is not signed in. RFC 2369, RFC 8058. */

/** Whatever is no such field is as good as none: the signature does not fit. */
const signed = z.string().catch('').default('')

/** By our signature alone: whatever we signed was a subscription once. */
const link = {
  path: '/notifications/unsubscribe/:subscriptionId',
  access: 'none',
  parameters: z.object({ subscriptionId: z.string() }),
  query: z.object({ tenant: signed, user: signed, sig: signed }),
} as const
const forbidden = { description: 'We did not sign this address' }
const example = {
  parameters: { subscriptionId: exampleSubscription },
  query: { tenant: 'default', user: 'crn#user:2Vb7qYx9Kd', sig: 'Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9vYmFyYmF6MDEyMzQ' },
} as const

export const readUnsubscribe = defineRoute({
  ...link,
  name: 'readUnsubscribe',
  method: 'GET',
  source: 'contract 5.7, RFC 2369',
  summary:
    'A page with a button that ends the subscription; by itself it changes nothing, for links are followed by machines',
  answers: { 200: { description: 'The page', contentType: 'text/html' }, 403: forbidden, ...refused(400) },
  example: { ...example, status: 200 },
})

export const unsubscribeByLink = defineRoute({
  ...link,
  name: 'unsubscribeByLink',
  method: 'POST',
  source: 'contract 5.7, RFC 8058',
  summary: 'End the subscription, also one that has ended; any body is taken, and none',
  answers: {
    200: { description: 'Ended, as a page, for who wants one', contentType: 'text/html' },
    204: { description: 'Ended' },
    403: forbidden,
    ...refused(400, 503),
  },
  example: { ...example, status: 204 },
})
