import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import {
  mailRecord,
  partsOfTopicRow,
  type SubscriberCommand,
  subscriberIdOf,
  subscriptionsRecord,
  topicRow,
} from '#actors/subscriber/state'
import { subscriptionsMax } from '#model/subscription'
import { now, outcomeOf } from '#test/actors/acting-actor'
import { ActingSubscriber, ada, sent, subscriptionOf } from '#test/actors/acting-subscriber'
import { commandOf, weighted } from '#test/kit/command-arbitrary'
import { forAll } from '#test/kit/for-all'

const row = (fn: string, id: string) => topicRow(fn, '2Vb7qYx9Kd', id)

let subscriber: ActingSubscriber
beforeEach(() => {
  subscriber = new ActingSubscriber()
})

describe('a subscription', () => {
  test('is stored with entry, row and both records in one turn, and the notice follows the commit', () => {
    const stored = subscriptionOf('F1', 'S1')
    const decision = subscriber.record({ type: 'subscribe', subscription: stored, from: 7 })
    expect(decision).toMatchObject({
      events: [{ kind: 'subscribed', at: now, user: ada, stored }],
      indexes: [{ index: 'topic', entry: row('F1', 'S1'), isPresent: true }],
      answer: stored,
    })
    expect(decision.records?.map(({ name }) => name)).toEqual([subscriptionsRecord, mailRecord])
    expect(subscriber.state).toMatchObject({ subscriptions: [stored], mail: { cursors: { S1: 7 } } })
    expect(subscriber.notices.received).toEqual(['+ t/F1'])
  })

  test('that is repeated with the same id, from any client, is answered as before without an event', () => {
    subscriber.subscribe('F1', 'S1', { from: 7 })
    subscriber.notices.lines.length = 0
    subscriber.at += 5_000
    const again = { createdAt: subscriber.at, origin: 'https://other.example', from: 9 }
    const unchanged = { type: 'record', events: [], answer: subscriptionOf('F1', 'S1') }
    expect(subscriber.subscribe('F1', 'S1', again)).toEqual(unchanged)
    expect(subscriber.state.mail.cursors).toEqual({ S1: 7 })
    expect(subscriber.notices.received).toEqual([])
  })

  test.each([
    ['to the same topic with another id', 'F1', 'S2', {}, 'conflict_empty: Conflict'],
    ['to the same topic with another id, in another locale', 'F1', 'S2', { locale: 'en' }, 'conflict_empty: Conflict'],
    ['with the same id, in another locale', 'F1', 'S1', { locale: 'en' }, 'conflict_empty: Conflict'],
    ['with the same id, to another topic', 'F2', 'S1', {}, 'conflict: the id is taken'],
  ])('%s is refused', (_, fn, id, more, refusal) => {
    subscriber.subscribe('F1', 'S1')
    expect(outcomeOf(subscriber.subscribe(fn, id, more))).toBe(refusal)
    expect(subscriber.topics).toEqual(['F1 S1'])
  })

  test('is refused at the maximum, and possible again after an unsubscription', () => {
    for (let index = 1; index <= subscriptionsMax; index++) subscriber.subscribe(`F${index}`, `S${index}`)
    expect(subscriber.rows.size).toBe(subscriptionsMax)
    const more = () => outcomeOf(subscriber.subscribe('F0', 'S0'))
    expect(more()).toBe(`bad_request_message: a user has at most ${subscriptionsMax} subscriptions`)
    // The conflict with an existing subscription is reported even at the maximum.
    expect(outcomeOf(subscriber.subscribe('F1', 'S0'))).toBe('conflict_empty: Conflict')
    subscriber.unsubscribe('S7')
    expect(more()).toEqual(subscriptionOf('F0', 'S0'))
  })
})

describe('a locale', () => {
  test('is set and published, even if it does not change', () => {
    subscriber.subscribe('F1', 'S1')
    subscriber.subscribe('F2', 'S2')
    const { mail } = subscriber.state
    for (const locale of ['en', 'en']) {
      subscriber.at += 1
      const stored = subscriptionOf('F1', 'S1', { locale })
      expect(subscriber.record({ type: 'set_locale', id: 'S1', locale })).toMatchObject({
        events: [{ kind: 'subscription_updated', at: subscriber.at, user: ada, stored }],
        answer: stored,
      })
    }
    expect(subscriber.state.subscriptions.map(({ id, locale }) => `${id} ${locale}`)).toEqual(['S1 en', 'S2 de'])
    expect(subscriber.state.mail).toEqual(mail)
    expect(subscriber.topics).toEqual(['F1 S1', 'F2 S2'])
  })

  test('that is set again under the same idempotency key is published once', () => {
    subscriber.subscribe('F1', 'S1')
    const asked = { type: 'set_locale', id: 'S1', locale: 'en', isRepeated: true } as const
    const stored = subscriptionOf('F1', 'S1', { locale: 'en' })
    expect(subscriber.record(asked)).toMatchObject({ events: [{ kind: 'subscription_updated' }], answer: stored })
    expect(subscriber.record(asked)).toMatchObject({ events: [], answer: stored })
  })

  test('of an unknown subscription is 404 without a body', () => {
    subscriber.subscribe('F1', 'S1')
    expect(outcomeOf(subscriber.act({ type: 'set_locale', id: 'S2', locale: 'en' }))).toBe('not_found_empty: Not Found')
  })
})

describe('the end of a subscription', () => {
  test.each([
    ['by the user', { type: 'unsubscribe', id: 'S1' }],
    ['by an unsubscribe link', { type: 'unsubscribe', id: 'S1', isByLink: true }],
    ['with its function', { type: 'topic_ended', function: 'F1' }],
  ] as const)(
    '%s deletes subscription, row and cursor in one turn, and the notice follows the commit',
    (_, command) => {
      subscriber.subscribe('F1', 'S1', { from: 1 })
      subscriber.subscribe('F2', 'S2', { from: 2 })
      subscriber.notices.lines.length = 0
      subscriber.at += 5
      expect(subscriber.record(command)).toMatchObject({
        events: [{ kind: 'unsubscribed', at: now + 5, user: ada, subscription: 'S1' }],
        indexes: [{ index: 'topic', entry: row('F1', 'S1'), isPresent: false }],
      })
      expect(subscriber.state.subscriptions).toEqual([subscriptionOf('F2', 'S2')])
      expect(subscriber.state.mail.cursors).toEqual({ S2: 2 })
      expect(subscriber.notices.received).toEqual(['- t/F1'])
    },
  )

  test('that does not exist is 404 without a body, but succeeds by an unsubscribe link', () => {
    subscriber.subscribe('F1', 'S1')
    expect(outcomeOf(subscriber.unsubscribe('S2'))).toBe('not_found_empty: Not Found')
    expect(subscriber.act({ type: 'unsubscribe', id: 'S2', isByLink: true })).toEqual({ type: 'answer' })
  })

  test('does not affect the position of the next subscription', () => {
    subscriber.subscribe('F1', 'S1', { from: 3 })
    subscriber.unsubscribe('S1')
    subscriber.subscribe('F1', 'S2', { from: 8 })
    expect(subscriber.state.mail.cursors).toEqual({ S2: 8 })
  })
})

test('the end of a function ends its subscription once, even if it is reported twice', () => {
  subscriber.subscribe('F1', 'S1')
  const endFunction = () => subscriber.act({ type: 'topic_ended', function: 'F1' })
  expect(endFunction()).toMatchObject({ events: [{ subscription: 'S1' }] })
  expect(endFunction()).toEqual({ type: 'answer' })
  expect(subscriber.entries.map(({ kind }) => kind)).toEqual(['subscribed', 'unsubscribed'])
})

describe('a user who is erased', () => {
  test('has no record or row, and only the counts of topics are notified', () => {
    subscriber.subscribe('F1', 'S1')
    subscriber.subscribe('F2', 'S2')
    subscriber.act(sent('S1', 1))
    subscriber.notices.lines.length = 0
    expect(subscriber.record({ type: 'erase' }).events).toEqual([])
    expect([subscriber.records.size, subscriber.topics]).toEqual([0, []])
    expect(subscriber.notices.received).toEqual(['- t/F1', '- t/F2'])
  })

  test('has no count of mails in the present hour, also if no subscription was left', () => {
    subscriber.subscribe('F1', 'S1')
    subscriber.act(sent('S1', 1))
    subscriber.unsubscribe('S1')
    expect([...subscriber.records.keys()]).toEqual([mailRecord])
    subscriber.act({ type: 'erase' })
    expect(subscriber.records.size).toBe(0)
    expect(subscriber.act({ type: 'erase' })).toEqual({ type: 'answer' })
  })
})

test.each([
  ['crn#user:2Vb7qYx9Kd', '2Vb7qYx9Kd'],
  ['crn#key:5Kd9tVw3Cx', '5Kd9tVw3Cx'],
  ['crn#user:anonymous', 'anonymous'],
  ['crn#user:operator', 'operator'],
])('%s has the subscriber id %s', (user, id) => {
  expect(subscriberIdOf(user)).toBe(id)
})

test('an index row has the topic first, and then the subscriber', () => {
  const parts = { function: '6Hn3wRt5Mz', subscriber: 'anonymous', subscription: '5Tn2bGh9Kd' }
  const row = topicRow(parts.function, parts.subscriber, parts.subscription)
  expect([row.startsWith('6Hn3wRt5Mz/'), partsOfTopicRow(row)]).toEqual([true, parts])
})

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
