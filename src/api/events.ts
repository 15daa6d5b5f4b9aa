import { z } from 'zod'
import { defineRoute } from '#api/route-entry'

/** The event stream. §4.2, §4.3, contract 4. */

export const createTicket = defineRoute('createTicket', {
  route: 'GET /events/ticket',
  summary: 'Create a ticket for the event socket: valid once, for half a minute by default',
  access: 'session',
  isSecret: true,
  answers: { 200: { description: 'The ticket', schema: z.object({ ticket: z.string() }) } },
  example: { answer: { ticket: 'Zm9vYmFyYmF6Zm9vYmFyYmF6' } },
})

const names = z
  .string()
  .max(8_192)
  .transform((text) => text.split(',').filter((name) => name !== ''))

/** The query of `GET /events/:ticket`, and of `GET /events` with credentials. `offset`: a position, or `now`. */
export const EventsQuery = z
  .object({
    types: names.optional(),
    devices: names.optional(),
    services: names.optional(),
    epoch: z.string().min(1).max(64).optional(),
    offset: z
      .string()
      .regex(/^(now|\d{1,15})$/, 'must be a whole number or now')
      .transform((text): number | 'now' => (text === 'now' ? text : Number(text)))
      .optional(),
  })
  .superRefine(({ epoch, offset }, context) => {
    if (typeof offset === 'number' && epoch === undefined) {
      context.addIssue({ code: 'custom', path: ['epoch'], message: 'is needed with offset' })
    }
    if (epoch !== undefined && offset === undefined) {
      context.addIssue({ code: 'custom', path: ['offset'], message: 'is needed with epoch' })
    }
  })
export type EventsQuery = z.infer<typeof EventsQuery>
