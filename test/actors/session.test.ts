import { beforeEach, describe, expect, test } from 'vitest'
import { sessionActor, usedEveryMs } from '#actors/session/session'
import {
  type BegunSession,
  type Rotation,
  replacedMsMax,
  type SessionCommand,
  type SessionState,
} from '#actors/session/state'
import type { Entry } from '#model/entry'
import type { Decision } from '#runtime/actor'
import { ActingActor, now, outcomeOf, sentCommandsOf } from '#test/actors/acting-actor'
import { RecordingNotices } from '#test/actors/recording-notices'

const hourMs = 3_600_000
const endsAt = now + 8 * hourMs

class ActingSession extends ActingActor<SessionState, SessionCommand> {
  readonly notices: RecordingNotices

  constructor(notices = new RecordingNotices()) {
    super(sessionActor(notices), { tenant: 't', id: 'S1' })
    this.notices = notices
  }

  static begun(more: Partial<BegunSession> = {}): ActingSession {
    const acting = new ActingSession()
    acting.record({ type: 'begin', user: 'U1', session: begun(more) })
    return acting
  }

  /** Uses the refresh token of this number. The next one expires later. */
  rotate(number: number, afterMs = 0): Decision<Entry> {
    this.at += afterMs
    return this.act({ type: 'rotate', number, endsAt: this.at + 8 * hourMs })
  }
}

function begun(more: Partial<BegunSession> = {}): BegunSession {
  const session = { id: 'S1', scheme: 'dpop', jkt: 'thumb', hasRefresh: true, endsAt } as const
  return { ...session, address: '10.0.0.1', agent: 'browser', ...more }
}

const { jkt: _, ...withoutKey } = begun({ scheme: 'basic', hasRefresh: false })

let acting: ActingSession
beforeEach(() => {
  acting = ActingSession.begun()
})

describe('a session begins', () => {
  test.each([
    ['with a key and refresh tokens', begun(), { scheme: 'dpop', jkt: 'thumb', number: 1 }],
    ['without a key and refresh tokens', withoutKey, { scheme: 'basic', jkt: null, number: 0 }],
  ] as const)('%s', (_, session, expected) => {
    const acting = new ActingSession()
    expect(acting.record({ type: 'begin', user: 'U1', session })).toMatchObject({ reminder: endsAt })
    expect(acting.state.session).toEqual({
      ...{ user: 'U1', createdAt: now, rotatedAt: now, endsAt, lastUsedAt: now, address: '10.0.0.1', agent: 'browser' },
      ...expected,
    })
  })

  test('only once', () => {
    const again = acting.act({ type: 'begin', user: 'U2', session: begun() })
    expect(outcomeOf(again)).toBe('conflict: the session has begun')
    expect(acting.state.session?.user).toBe('U1')
  })
})

describe('a refresh token', () => {
  test('is valid once, returns the next one, and extends the session', () => {
    for (let number = 1; number <= 5; number++) {
      const decision = acting.rotate(number, hourMs)
      const rotated = { number: number + 1, endsAt: acting.at + 8 * hourMs, rotatedAt: acting.at }
      expect(outcomeOf(decision)).toEqual({ outcome: 'rotated', ...rotated } satisfies Rotation)
      expect(acting.reminder).toBe(rotated.endsAt)
      expect(acting.state.session).toMatchObject({ number: number + 1, endsAt: rotated.endsAt, lastUsedAt: acting.at })
    }
    expect(acting.notices.lines).toEqual([])
  })

  test.each([
    [9_999, 'repeated'],
    [replacedMsMax, 'repeated'],
    [replacedMsMax + 1, 'reused'],
  ])('that is used again after %i ms is %s', (afterMs, outcome) => {
    acting.rotate(1)
    const before = { ...acting.state.session }
    const decision = acting.rotate(1, afterMs)
    expect(outcomeOf(decision)).toMatchObject({ outcome })
    if (outcome === 'repeated') {
      // The answer has the same next number and the same end.
      expect(outcomeOf(decision)).toEqual({ outcome, number: 2, endsAt, rotatedAt: now })
      expect(acting.state.session).toEqual(before)
      expect(outcomeOf(acting.rotate(2))).toMatchObject({ outcome: 'rotated', number: 3 })
    } else {
      expect(acting.state.session).toBeUndefined()
      expect(outcomeOf(acting.rotate(2))).toEqual({ outcome: 'unknown' })
    }
  })

  test.each([
    ['that is bound to no key, used twice at once', { scheme: 'basic', jkt: undefined } as const, [1], 1],
    ['that is the last but one, used at once', {}, [1, 2], 1],
    ['that is the first of many', {}, [1, 2, 3, 4], 1],
  ])('%s, is reused, so the session ends and the account is notified', (_, more, used, shown) => {
    const acting = ActingSession.begun(more as Partial<BegunSession>)
    for (const number of used) acting.rotate(number)
    const decision = acting.rotate(shown)
    expect(outcomeOf(decision)).toEqual({ outcome: 'reused' })
    expect(sentCommandsOf(decision)).toEqual(['account/t/U1 session_over'])
    expect(acting.state.session).toBeUndefined()
    expect(acting.records.size).toBe(0)
    expect(acting.reminder).toBeNull()
    expect(acting.notices.lines).toEqual(['session t/S1 ended'])
  })

  test.each([
    ['above the newest one', {}, [1], 3],
    ['above the first one', {}, [], 2],
    ['0', {}, [], 0],
    ['0 after one rotation', {}, [1], 0],
    ['a negative number', {}, [], -1],
    ['of a session without refresh tokens', { hasRefresh: false }, [], 1],
    ['0 of a session without refresh tokens', { hasRefresh: false }, [], 0],
  ])('with an unknown number (%s) changes nothing', (_, more, used, shown) => {
    const acting = ActingSession.begun(more)
    for (const number of used) acting.rotate(number)
    const before = { ...acting.state.session }
    expect(acting.rotate(shown)).toEqual({ type: 'answer', value: { outcome: 'unknown' } })
    expect(acting.state.session).toEqual(before)
    expect(acting.notices.lines).toEqual([])
  })

  test.each([
    [-1, 'rotated'],
    [0, 'unknown'],
    [1, 'unknown'],
  ])('that is used %i ms from the end of the session is %s', (fromEndMs, outcome) => {
    expect(outcomeOf(acting.rotate(1, endsAt + fromEndMs - now))).toMatchObject({ outcome })
  })

  test('of an unknown or ended session is unknown', () => {
    expect(outcomeOf(new ActingSession().rotate(1))).toEqual({ outcome: 'unknown' })
    acting.act({ type: 'end' })
    expect(outcomeOf(acting.rotate(1))).toEqual({ outcome: 'unknown' })
  })
})

describe('the use of a session', () => {
  test.each([
    [0, false],
    [usedEveryMs - 1, false],
    [usedEveryMs, true],
    [usedEveryMs + 5, true],
  ])('%i ms after the last stored use is stored: %s', (afterMs, isStored) => {
    acting.at += afterMs
    const decision = acting.act({ type: 'use', address: '10.9.9.9' })
    expect(decision.type).toBe(isStored ? 'record' : 'answer')
    expect(acting.state.session).toMatchObject(
      isStored ? { lastUsedAt: now + afterMs, address: '10.9.9.9' } : { lastUsedAt: now, address: '10.0.0.1' },
    )
    // The end of the session does not change.
    expect(acting.reminder).toBe(endsAt)
  })

  test('is stored only while the session exists', () => {
    acting.at = endsAt
    for (const each of [new ActingSession(), acting]) {
      expect(each.act({ type: 'use', address: 'a' }).type).toBe('answer')
    }
  })
})

describe('a session ends', () => {
  test('by a command of its account, which is not notified', () => {
    expect(sentCommandsOf(acting.record({ type: 'end' }))).toEqual([])
    expect(acting.state.session).toBeUndefined()
    expect(acting.records.size).toBe(0)
    expect(acting.reminder).toBeNull()
    expect(acting.notices.received).toEqual(['session t/S1 ended'])
    expect(acting.act({ type: 'end' })).toEqual({ type: 'answer', value: undefined })
    expect(acting.notices.received).toEqual([])
  })

  test.each([
    [-1, false],
    [0, true],
    [1, true],
  ])('by its reminder, %i ms after its end: %s', (fromEndMs, isEnded) => {
    acting.at = endsAt + fromEndMs
    const decision = acting.record({ type: 'reminder_due', dueAt: endsAt })
    expect(sentCommandsOf(decision)).toEqual(isEnded ? ['account/t/U1 session_over'] : [])
    expect(acting.state.session === undefined).toBe(isEnded)
    expect(acting.reminder).toBe(isEnded ? null : endsAt)
    expect(acting.notices.received).toEqual(isEnded ? ['session t/S1 ended'] : [])
  })
})
