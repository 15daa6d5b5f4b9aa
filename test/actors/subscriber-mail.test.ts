import { beforeEach, describe, expect, test } from 'vitest'
import type { MailState, SubscriberCommands } from '#actors/subscriber/state'
import { mailAfter, mailHourMs, noMail } from '#actors/subscriber/subscriber'
import { now } from '#test/actors/acting-actor'
import { ActingSubscriber, sent, subscriptionOf } from '#test/actors/acting-subscriber'

const refusals = { inRow: 2, address: '0123456789abcdef', restsUntil: 0 }

/** A subscriber with subscription S1 to F1, from position 3, and S2 to F2, from position 5. */
let subscriber: ActingSubscriber
beforeEach(() => {
  subscriber = new ActingSubscriber()
  subscriber.subscribe('F1', 'S1', { from: 3 })
  subscriber.subscribe('F2', 'S2', { from: 5 })
})

describe('the result of a mail', () => {
  test('moves the cursor and is counted in the same commit, without an event', () => {
    expect(subscriber.record(sent('S1', 4))).toMatchObject({
      events: [],
      tells: [{ to: { kind: 'outbox', tenant: 't', id: 'outbox' }, command: { type: 'count', sent: 1 } }],
    })
    expect(subscriber.state.mail).toEqual({
      cursors: { S1: 4, S2: 5 },
      hour: { from: now, count: 1 },
      missed: {},
      retry: null,
      refusals: null,
    })
  })

  const skipped = { reason: 'forbidden', count: 3 }
  test.each<[string, SubscriberCommands['advance']['outcome'], unknown]>([
    ['a mail', { sent: 'mail', of: 1 }, { type: 'count', sent: 1 }],
    ['a digest of seven mails', { sent: 'digest', of: 7 }, { type: 'count', digests: 1, digested: 7 }],
    ['three skipped mails', { passed: 'forbidden', count: 3 }, { type: 'count', passed: skipped }],
    ['only a new position', null, undefined],
  ])('is counted: %s', (_, outcome, command) => {
    const { tells = [] } = subscriber.record(sent('S1', 4, { outcome }))
    expect(tells.map((tell) => tell.command)).toEqual(command === undefined ? [] : [command])
  })

  test('never moves a cursor back', () => {
    subscriber.act(sent('S1', 9))
    subscriber.act(sent('S1', 8))
    expect(subscriber.state.mail.cursors).toEqual({ S1: 9, S2: 5 })
  })

  test('moves the cursors of all functions in a digest', () => {
    const moves = [
      { subscription: 'S1', to: 40, missed: 0 },
      { subscription: 'S2', to: 50 },
    ]
    subscriber.act(sent('S1', 10, { moves: [{ subscription: 'S1', to: 10, missed: 6 }], outcome: null }))
    expect(subscriber.state.mail.missed).toEqual({ F1: 6 })
    subscriber.act(sent('S2', 6))
    expect(subscriber.state.mail.missed).toEqual({ F1: 6 })
    subscriber.act(sent('S1', 0, { moves, outcome: { sent: 'digest', of: 75 } }))
    expect(subscriber.state.mail).toMatchObject({ cursors: { S1: 40, S2: 50 }, missed: {} })
  })

  test('is counted once, also if it is a digest of dropped mails, which moves no cursor', () => {
    subscriber.act(sent('S1', 10, { moves: [{ subscription: 'S1', to: 10, missed: 6 }], outcome: null }))
    const moves = [{ subscription: 'S1', to: 10, missed: 0 }]
    const digest = sent('S1', 10, { moves, outcome: { sent: 'digest', of: 6 } })
    expect(subscriber.record(digest).tells).toHaveLength(1)
    subscriber.act(digest)
    expect(subscriber.record(digest).tells).toEqual([])
  })

  test('replaces the stored hour and refusals', () => {
    const hour = { from: now - 5, count: 60 }
    subscriber.act(sent('S1', 4, { outcome: { passed: 'rejected', count: 1 }, hour, refusals }))
    expect(subscriber.state.mail).toMatchObject({ hour, refusals })
    subscriber.act(sent('S1', 5))
    expect(subscriber.state.mail.refusals).toBeNull()
  })
})

describe('a mail that failed', () => {
  const failed = { type: 'failed', retry: { attempts: 2, nextAt: now + 120_000 } } as const

  test('waits for its retry without any other change', () => {
    subscriber.act(sent('S1', 4))
    const { mail } = subscriber.state
    subscriber.act(failed)
    expect(subscriber.state.mail).toEqual({ ...mail, retry: failed.retry })
  })

  test('has no retry after the cursor has moved', () => {
    subscriber.act(failed)
    subscriber.act(sent('S1', 4))
    expect(subscriber.state.mail.retry).toBeNull()
  })

  test('needs no retry without subscriptions', () => {
    expect(new ActingSubscriber().act(failed)).toEqual({ type: 'answer' })
  })
})

describe('a mail on its way to a user who meanwhile', () => {
  test('unsubscribed is counted, and the subscription stays deleted', () => {
    subscriber.unsubscribe('S1')
    expect(subscriber.record(sent('S1', 4)).tells).toHaveLength(1)
    expect(subscriber.state.mail).toMatchObject({ cursors: { S2: 5 }, hour: { count: 1 } })
  })

  test('was erased is counted, and the records stay deleted', () => {
    subscriber.act({ type: 'erase' })
    expect(subscriber.record(sent('S1', 4)).tells).toHaveLength(1)
    expect(subscriber.records.size).toBe(0)
  })
})

test('missed mails are deleted with their function', () => {
  const moves = [
    { subscription: 'S1', to: 10, missed: 6 },
    { subscription: 'S2', to: 10, missed: 2 },
  ]
  subscriber.act(sent('S1', 10, { moves, outcome: null }))
  subscriber.act({ type: 'topic_ended', function: 'F1' })
  expect(subscriber.state.mail).toMatchObject({ cursors: { S2: 10 }, missed: { F2: 2 } })
})

describe('the mail state after an unsubscription', () => {
  const mail: MailState = {
    ...noMail,
    cursors: { S1: 4 },
    missed: { F1: 2 },
    hour: { from: now, count: 60 },
    retry: { attempts: 3, nextAt: now + 5 },
  }

  test.each([
    ['no mail in an hour', { ...mail, hour: { from: now, count: 0 } }, now, false],
    ['a new hour', mail, now, true],
    ['the last moment of an hour', mail, now + mailHourMs - 1, true],
    ['a past hour', mail, now + mailHourMs, false],
    ['a future hour, after the clock was set back', mail, now - 1, false],
    ['an address that refused', { ...mail, refusals }, now + mailHourMs, true],
  ])('is kept or deleted if it has %s', (_, before, at, isKept) => {
    const { hour, refusals: kept } = before
    expect(mailAfter(before, [], at)).toEqual(isKept ? { ...noMail, hour, refusals: kept } : null)
  })

  test('continues its counts with the next subscription', () => {
    subscriber.act(sent('S1', 4))
    for (const id of ['S1', 'S2']) subscriber.unsubscribe(id)
    subscriber.subscribe('F1', 'S3', { from: 4 })
    expect(subscriber.state.mail).toMatchObject({ cursors: { S3: 4 }, hour: { from: now, count: 1 } })
  })

  test('has no more data of the ended subscription, but of the others', () => {
    expect(mailAfter(mail, [subscriptionOf('F2', 'S2')], now)).toEqual({ ...mail, cursors: { S2: 0 }, missed: {} })
  })
})
