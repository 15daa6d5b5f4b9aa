import { z } from 'zod'
import { defineRoute } from '#api/entry'
import { errorAnswers } from '#api/error-answers'
import { skipReasons } from '#model/delivery'
import { Timestamp } from '#model/identifier'

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
  source: 'contract 5.7',
  summary: 'Read how many mails wait, were sent, or were not, and why; for users with the role admin',
  access: { resource: 'notifications', action: 'update', within: 'tenant' },
  answers: { 200: { description: 'The counts', schema: Outbox }, ...errorAnswers(401, 403) },
  example: {
    status: 200,
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
