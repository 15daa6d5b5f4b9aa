import { z } from 'zod'
import { defineRoute } from '#api/entry'
import { refused } from '#api/refusals'
import { passReasons } from '#model/delivery'
import { Timestamp } from '#model/identifier'

/** What becomes of mails, in numbers. Contract 5.7. */

const Count = z.int().min(0)

/**
 * Of one tenant since it was made, but `waiting`, which is now, and `transport`, which is everybody's. To whom mails go is
 * nowhere in it. `lastError` is a code of SMTP or a word of ours.
 */
const Outbox = z.object({
  waiting: z.object({ requests: Count, subscribers: Count }),
  sent: Count,
  digests: Count,
  digested: Count,
  failures: z.array(z.object({ reason: z.enum(passReasons), count: Count, lastAt: Timestamp })),
  transport: z.object({
    kind: z.enum(['smtp', 'eml']),
    state: z.enum(['ok', 'resting']),
    lastError: z.string().optional(),
  }),
})
export type Outbox = Readonly<z.infer<typeof Outbox>>

export const readOutbox = defineRoute({
  name: 'readOutbox',
  method: 'GET',
  path: '/notifications/outbox',
  source: 'contract 5.7',
  summary: 'How many mails wait, went and did not, and why; for holders of the role admin',
  access: { resource: 'notifications', action: 'update', within: 'tenant' },
  answers: { 200: { description: 'The figures', schema: Outbox }, ...refused(401, 403) },
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
