import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { SubscriberCommand } from '#actors/subscriber/state'
import { now } from '#test/actors/acting-actor'
import { ActingSubscriber, subscriptionOf } from '#test/actors/acting-subscriber'
import { commandOf, weighted } from '#test/kit/command-arbitrary'
import { forAll } from '#test/kit/for-all'

const few = <const Value>(...values: Value[]) => fc.constantFrom(...values)
const fn = few('F1', 'F2', 'F3')
const id = few('S1', 'S2', 'S3', 'S4')
const locale = few('de', 'en')
const count = fc.nat(9)
const address = few('a'.repeat(16), 'b'.repeat(16))

const move = fc.record({ subscription: id, to: count, missed: count }, { requiredKeys: ['subscription', 'to'] })
const command: fc.Arbitrary<SubscriberCommand> = fc.oneof(
  weighted(
    4,
    commandOf('subscribe', {
      subscription: fc.record({ fn, id, locale }).map(({ fn, id, locale }) => subscriptionOf(fn, id, { locale })),
      from: count,
    }),
  ),
  commandOf('set_locale', { id, locale }),
  commandOf('unsubscribe', { id }, { isByLink: few(true) }),
  commandOf('topic_ended', { function: fn }),
  commandOf('erase'),
  weighted(
    3,
    commandOf('advance', {
      moves: fc.array(move, { maxLength: 2 }),
      outcome: few(null, { sent: 'mail', of: 1 } as const, { passed: 'expired', count: 2 } as const),
      hour: fc.record({ from: few(0, now, now + 60_000), count }),
      refusals: fc.option(fc.record({ inRow: count, address, restsUntil: few(0, now) })),
    }),
  ),
  commandOf('failed', { retry: fc.record({ attempts: count, nextAt: few(now, now + 60_000) }) }),
)

const step = fc.tuple(few(0, 1, 60_000, 3_600_000), command)

// `ActingActor` checks at each step that the records restore the state.
test('after any sequence of commands, index, cursors and entries equal the subscriptions', () => {
  forAll([fc.array(step, { minLength: 1, maxLength: 40 })], 100, (steps) => {
    const subscriber = new ActingSubscriber()
    const folded = new Map<string, string>()
    for (const [pauseMs, each] of steps) {
      subscriber.at += pauseMs
      subscriber.entries.length = 0
      const before = subscriber.state.mail.cursors
      subscriber.act(each)
      const { subscriptions, mail } = subscriber.state
      expect(subscriber.topics).toEqual(subscriptions.map((one) => `${one.function} ${one.id}`).sort())
      expect(new Set(subscriptions.map((one) => one.function)).size).toBe(subscriptions.length)
      expect(Object.keys(mail.cursors).sort()).toEqual(subscriptions.map((one) => one.id).sort())
      const functions = subscriptions.map((one) => one.function)
      expect(Object.keys(mail.missed).filter((missed) => !functions.includes(missed))).toEqual([])
      for (const [of, cursor] of Object.entries(mail.cursors)) {
        expect(cursor).toBeGreaterThanOrEqual(before[of] ?? 0)
      }
      for (const entry of subscriber.entries) {
        if (entry.kind === 'subscribed' || entry.kind === 'subscription_updated') {
          folded.set(entry.stored.id, entry.stored.locale)
        } else if (entry.kind === 'unsubscribed') folded.delete(entry.subscription)
        else throw new Error(`a subscriber publishes ${entry.kind}`)
      }
      // The erasure of a user publishes no entry.
      if (each.type === 'erase') folded.clear()
      expect([...folded].sort()).toEqual(subscriptions.map((one) => [one.id, one.locale]).sort())
    }
  })
})
