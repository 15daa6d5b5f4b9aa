import { expect, test } from 'vitest'
import { outboxActor } from '#actors/outbox/outbox'
import { ActingActor, now } from '#test/actors/acting-actor'

test('results of mails are counted, and failures by reason with the time of the last one', () => {
  const outbox = new ActingActor(outboxActor, { tenant: 't', id: 'outbox' })
  outbox.act({ type: 'count', sent: 1 })
  outbox.act({ type: 'count', digests: 1, digested: 42 })
  outbox.act({ type: 'count', passed: { reason: 'forbidden', count: 2 } })
  outbox.at += 60_000
  outbox.act({ type: 'count', passed: { reason: 'forbidden', count: 3 } })
  outbox.act({ type: 'count', sent: 1, passed: { reason: 'expired', count: 1 } })
  expect(outbox.state.tally).toEqual({
    sent: 2,
    digests: 1,
    digested: 42,
    failures: { forbidden: { count: 5, lastAt: now + 60_000 }, expired: { count: 1, lastAt: now + 60_000 } },
  })
})
