import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { MailState } from '#actors/subscriber/state'
import type { DeliveryRequest } from '#model/delivery'
import { moveTo } from '#notifications/composer'
import { chooseMail, type MailChoice, type PendingSubscription } from '#notifications/mail-choice'
import { subscriptionOf } from '#test/actors/acting-subscriber'

const now = 1_763_700_000_000
const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

function requestAt(seq: number, at = now): DeliveryRequest {
  return { seq, at, device: 'A', node: 'n', template: 't', value: 1, previous: 0, cause: { on: 'status' } }
}

/** A subscription with requests by number and age; `seq` of the head defaults to the last request. */
function pending(
  fn: string,
  ages: Readonly<Record<number, number>>,
  more: { readonly cursor?: number; readonly seq?: number; readonly missed?: number } = {},
): PendingSubscription {
  const requests = Object.entries(ages).map(([seq, ageMs]) => requestAt(Number(seq), now - ageMs))
  const { cursor = 0, seq = requests.at(-1)?.seq ?? 0, missed = 0 } = more
  return { subscription: subscriptionOf(fn, `${fn}-sub`), cursor, head: { seq, trimmed: 0, at: now }, requests, missed }
}

type Mail = Pick<MailState, 'hour' | 'retry'>
const fresh: Mail = { hour: { from: 0, count: 0 }, retry: null }
const inHour = (count: number, agoMs = minute): Mail => ({ hour: { from: now - agoMs, count }, retry: null })
const retrying = (inMs: number): Mail => ({ ...fresh, retry: { attempts: 1, nextAt: now + inMs } })

/** A short form of the choice. */
function shortOf(choice: MailChoice): string {
  switch (choice.type) {
    case 'idle':
      return 'idle'
    case 'wait':
      return `wait ${(choice.until - now) / minute} min`
    case 'expire':
      return `expire ${choice.pending.subscription.function} ${choice.requests.map(({ seq }) => seq).join()}`
    case 'send':
      return `send ${choice.pending.subscription.function} ${choice.request.seq}`
    case 'digest':
      return `digest ${choice.pendings.map(({ subscription }) => subscription.function).join()}`
  }
}

const one = pending('F', { 1: 0 })
const two = pending('F', { 1: 5, 2: 0 })

describe('the next mail', () => {
  test.each<readonly [string, Mail, readonly PendingSubscription[], string]>([
    ['nothing', fresh, [], 'idle'],
    ['nothing within an hour', inHour(60), [], 'idle'],
    ['the first mail', fresh, [one], 'send F 1'],
    ['the oldest of one function', fresh, [two], 'send F 1'],
    ['the oldest of several', fresh, [one, pending('G', { 7: 1 })], 'send G 7'],
    ['the first function of several at the same time', fresh, [pending('G', { 1: 0 }), one], 'send F 1'],
    ['the lowest number of one function, ignoring the clock', fresh, [pending('F', { 1: 0, 2: 9 })], 'send F 1'],
    ['one more within the hour', inHour(59), [two], 'send F 1'],
    ['none within a full hour', inHour(60), [two], 'wait 59 min'],
    ['none within an hour above a lowered limit', inHour(90), [one], 'wait 59 min'],
    ['one, when the hour was full and is over', inHour(60, hour), [one], 'send F 1'],
    ['a digest, when the hour was full and is over', inHour(60, hour), [two], 'digest F'],
    ['a digest of all functions', inHour(60, hour), [one, pending('G', { 1: 1 })], 'digest F,G'],
    ['the hour ends exactly', inHour(60, hour - 1), [one], `wait ${1 / minute} min`],
    ['a single mail, when the hour was not full', inHour(59, hour), [two], 'send F 1'],
    ['an hour that starts in the future is over', inHour(60, -minute), [two], 'digest F'],
    ['the rest of a retry delay', retrying(minute), [one], 'wait 1 min'],
    ['a retry that is due', retrying(0), [one], 'send F 1'],
    ['a retry too far ahead, because the clock was set back', retrying(2 * hour), [one], 'send F 1'],
    ['too old', fresh, [pending('F', { 1: day })], 'expire F 1'],
    ['just young enough', fresh, [pending('F', { 1: day - 1 })], 'send F 1'],
    ['all expired requests', fresh, [pending('F', { 1: day + 9, 3: day, 4: 5 })], 'expire F 1,3'],
    ['from the future', fresh, [pending('F', { 1: -hour })], 'send F 1'],
    ['too old, but the hour is full', inHour(60), [pending('F', { 1: day })], 'wait 59 min'],
    ['too old before a digest', inHour(60, hour), [pending('F', { 1: day, 2: 0 })], 'expire F 1'],
    ['after a gap', fresh, [pending('F', { 9: 0 })], 'send F 9'],
    ['after a gap when the hour was full', inHour(60, hour), [pending('F', { 9: 0 })], 'digest F'],
    ['one request and missed ones', inHour(60, hour), [pending('F', { 9: 0 }, { cursor: 8, missed: 3 })], 'digest F'],
    ['only a gap, outside an hour', fresh, [pending('F', {}, { seq: 4 })], 'digest F'],
    ['only a gap', inHour(1), [pending('F', {}, { seq: 4 })], 'wait 59 min'],
    ['only missed ones', inHour(1), [pending('F', {}, { cursor: 4, seq: 4, missed: 2 })], 'wait 59 min'],
    [
      'only missed ones, and the hour is over',
      inHour(1, hour),
      [pending('F', {}, { cursor: 4, seq: 4, missed: 2 })],
      'digest F',
    ],
    [
      'one of another function before missed ones',
      inHour(1),
      [pending('F', {}, { seq: 4 }), pending('G', { 1: 0 })],
      'send G 1',
    ],
  ])('%s', (_, mail, pendings, expected) => {
    expect(shortOf(chooseMail(mail, pendings, now, 60))).toBe(expected)
  })

  test.each([
    [1, 1, 'wait 59 min'],
    [1, 0, 'send F 1'],
    [5, 60, 'wait 59 min'],
    [100_000, 60, 'send F 1'],
  ])('with %i an hour and %i sent: %s', (mailsPerHourMax, count, expected) => {
    expect(shortOf(chooseMail(inHour(count), [two], now, mailsPerHourMax))).toBe(expected)
  })
})

test.each([
  [1, undefined],
  [4, 2],
  [5, 2],
  [9, 6],
])('moving the cursor to %i counts skipped requests that were not stored', (to, missed) => {
  const from = pending('F', { 1: 0, 4: 0, 5: 0 }, { seq: 9 })
  expect(moveTo(from, to).missed).toBe(missed)
  const again = pending('F', { 1: 0, 4: 0, 5: 0 }, { seq: 9, missed: 10 })
  expect(moveTo(again, to).missed).toBe(missed && missed + 10)
})

/** Random requests, failures and delays, applied by a simple model that follows the choices. */
describe('any sequence', () => {
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ type: fc.constant('request' as const), fn: fc.constantFrom('F', 'G') }) },
    fc.record({
      type: fc.constant('overflow' as const),
      fn: fc.constantFrom('F', 'G'),
      count: fc.integer({ min: 1, max: 9 }),
    }),
    { weight: 4, arbitrary: fc.record({ type: fc.constant('run' as const), fails: fc.boolean() }) },
    fc.record({
      type: fc.constant('later' as const),
      ms: fc.constantFrom(1, minute, 20 * minute, hour, 7 * hour, -hour),
    }),
  )

  interface Topic {
    seq: number
    cursor: number
    missed: number
    requests: DeliveryRequest[]
  }

  test('respects the hourly limit, and sends or expires every request once', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), fc.integer({ min: 1, max: 4 }), (steps, max) => {
        let at = now
        let mail: Mail = fresh
        const topics: Record<'F' | 'G', Topic> = {
          F: { seq: 0, cursor: 0, missed: 0, requests: [] },
          G: { seq: 0, cursor: 0, missed: 0, requests: [] },
        }
        const totals = { sent: 0, digested: 0, expired: 0 }
        const sentAt: number[] = []
        let clockPutBack = false
        let last = ''

        const pendings = () =>
          (['F', 'G'] as const).flatMap((fn) => {
            const { seq, cursor, missed, requests } = topics[fn]
            if (seq <= cursor && missed === 0) return []
            return [
              { ...pending(fn, {}, { cursor, seq, missed }), requests: requests.filter((each) => each.seq > cursor) },
            ]
          })
        const move = (from: PendingSubscription, to: number) => {
          const topic = topics[from.subscription.function as 'F' | 'G']
          topic.missed = moveTo(from, to).missed ?? topic.missed
          expect(to).toBeGreaterThanOrEqual(topic.cursor)
          topic.cursor = to
        }
        const count = () => {
          const isOver = at >= mail.hour.from + hour || at < mail.hour.from
          mail = { hour: isOver ? { from: at, count: 1 } : { ...mail.hour, count: mail.hour.count + 1 }, retry: null }
          expect(mail.hour.count).toBeLessThanOrEqual(max)
          sentAt.push(at)
        }
        const run = (fails: boolean): boolean => {
          const choice = chooseMail(mail, pendings(), at, max)
          last = choice.type
          if (choice.type === 'wait') expect(choice.until).toBeGreaterThan(at)
          if (choice.type === 'idle' || choice.type === 'wait') return false
          if (choice.type === 'expire') {
            totals.expired += choice.requests.length
            move(choice.pending, choice.requests.at(-1)?.seq ?? 0)
            mail = { ...mail, retry: null }
          } else if (fails) mail = { ...mail, retry: { attempts: 1, nextAt: at + minute } }
          else if (choice.type === 'send') {
            totals.sent++
            expect(choice.request.seq).toBeGreaterThan(choice.pending.cursor)
            move(choice.pending, choice.request.seq)
            count()
          } else {
            for (const each of choice.pendings) {
              const topic = topics[each.subscription.function as 'F' | 'G']
              move(each, each.head.seq)
              totals.digested += each.requests.length + topic.missed
              topic.missed = 0
            }
            count()
          }
          return true
        }

        for (const each of steps) {
          if (each.type === 'later') {
            at += each.ms
            clockPutBack ||= each.ms < 0
          } else if (each.type === 'run') run(each.fails)
          else {
            const topic = topics[each.fn]
            topic.seq += each.type === 'request' ? 1 : each.count
            if (each.type === 'request') topic.requests = [...topic.requests, requestAt(topic.seq, at)].slice(-3)
          }
        }
        // Nothing fails from here on.
        last = ''
        for (let rounds = 0; rounds < 200 && last !== 'idle'; rounds++) if (!run(false)) at += 30 * minute
        const all = topics.F.seq + topics.G.seq
        expect(totals.sent + totals.digested + totals.expired).toBe(all)
        if (clockPutBack) return
        // Any 60 minutes overlap at most two counted hours.
        for (const [index, first] of sentAt.entries()) {
          expect(sentAt.slice(index).filter((time) => time < first + hour).length).toBeLessThanOrEqual(2 * max)
        }
      }),
      { numRuns: 300 },
    )
  })
})
