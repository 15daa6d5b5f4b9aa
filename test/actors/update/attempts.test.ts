import { beforeEach, describe, expect, test } from 'vitest'
import { stayMsMin } from '#actors/update/machine'
import type { UpdateCommands } from '#actors/update/state'
import { isHeldBack, rememberedMax, retryMsMax, retryMsMin } from '#actors/update/transition'
import { defaultAttempts } from '#model/rollout'
import { now } from '#test/actors/acting-actor'
import { ActingUpdate, foundOf, offerOf, updateEventsOf } from '#test/actors/update/acting-update'

const rollout = (maxAttempts: number, id = 'R') => foundOf({ rollout: { id, maxAttempts } })
const begin = (acting: ActingUpdate, id: string, more: Partial<UpdateCommands['begin']> = {}) =>
  acting.begins({ by: 'connect', id, found: foundOf(), ...more }).outcome

let acting: ActingUpdate
beforeEach(() => {
  acting = new ActingUpdate()
})

describe('an automatic update that failed', () => {
  test.each(['FAILED', 'NOT_OK'] as const)(
    'because of %s is tried three times, each time after a longer delay',
    (status) => {
      for (let count = 1; count <= defaultAttempts; count++) {
        expect(begin(acting, `J${count}`, { by: 'cron' })).toBe('begun')
        expect(acting.stored.attempts).toEqual([
          { firmware: '2.0.0', index: 0, rollout: null, by: 'cron', count, nextAt: null, doneAt: null },
        ])
        acting.reports(status)
        acting.clearNotices()
        if (count === defaultAttempts) break
        const waitMs = (acting.reminder ?? 0) - acting.at
        const meanMs = retryMsMin * 2 ** (count - 1)
        expect(waitMs).toBeGreaterThanOrEqual(meanMs * 0.8)
        expect(waitMs).toBeLessThanOrEqual(meanMs * 1.2)
        acting.at += waitMs - 1
        expect(begin(acting, 'early')).toBe('held_back')
        expect(acting.due()).toMatchObject({ type: 'record', reminder: acting.at + 1 })
        expect(acting.received).toEqual([])
        acting.at += 1
        acting.due()
        expect([acting.received, acting.reminder]).toEqual([['retry A'], null])
      }
      expect([acting.reminder, acting.stored.attempts[0]?.nextAt]).toEqual([null, null])
      acting.at += 10 * retryMsMax
      expect(begin(acting, 'more')).toBe('held_back')
    },
  )

  test('is tried as often as its rollout allows, with delays up to a day', () => {
    let waitMs = 0
    for (let count = 1; count <= 20; count++) {
      expect(begin(acting, `J${count}`, { found: rollout(20) })).toBe('begun')
      acting.reports('FAILED')
      if (count === 20) break
      waitMs = (acting.reminder ?? 0) - acting.at
      acting.at += waitMs
    }
    expect(acting.reminder).toBeNull()
    expect(waitMs).toBeGreaterThanOrEqual(retryMsMax * 0.8)
    expect(waitMs).toBeLessThanOrEqual(retryMsMax * 1.2)
  })

  test.each<readonly [string, Partial<UpdateCommands['begin']>, number]>([
    ['another firmware', { found: foundOf({ firmware: '2.0.1' }) }, 1],
    ['another index', { found: foundOf({ index: 1 }) }, 1],
    ['a new rollout', { found: rollout(3) }, 1],
  ])('does not delay %s, which is counted from the beginning', (_, more, count) => {
    const acting = ActingUpdate.offering()
    acting.reports('FAILED')
    expect(begin(acting, 'K')).toBe('held_back')
    expect(begin(acting, 'K', more)).toBe('begun')
    expect(acting.stored.attempts.at(-1)).toMatchObject({ count, nextAt: null })
  })

  test('does not delay an update by hand, and is counted from the beginning afterwards', () => {
    const acting = ActingUpdate.offering()
    acting.reports('FAILED')
    expect(acting.begins({ id: 'K' }).outcome).toBe('begun')
    acting.act({ type: 'found', id: 'K', ...foundOf() })
    acting.reports('FAILED')
    expect([acting.stored.attempts, acting.reminder]).toEqual([[], null])
    expect(begin(acting, 'L')).toBe('begun')
    expect(acting.stored.attempts[0]?.count).toBe(1)
  })

  test('is not tried again while it continues late, and this is no further attempt', () => {
    const acting = ActingUpdate.offering()
    acting.act({ type: 'lost', id: 'J' })
    expect(acting.stored.attempts[0]?.nextAt).not.toBeNull()
    acting.reports('DOWNLOADING')
    expect(acting.stored.attempts).toMatchObject([{ count: 1, nextAt: null }])
    expect(acting.reminder).toBe(acting.stored.context.deadline)
    acting.reports('FAILED')
    expect(acting.stored.attempts).toMatchObject([{ count: 1 }])
    expect(acting.reminder).toBe(acting.stored.attempts[0]?.nextAt)
  })

  test('is not tried again after it succeeded late', () => {
    const acting = ActingUpdate.offering()
    acting.reports('FAILED')
    acting.reconnects('2.0.0', 't')
    expect([acting.updateState, acting.reminder]).toEqual(['done', null])
  })

  test('is still tried again after a request by hand that found no update', () => {
    const acting = ActingUpdate.offering()
    acting.reports('FAILED')
    const { reminder } = acting
    acting.begins({ id: 'K' })
    expect(acting.reminder).toBe(acting.stored.context.deadline)
    acting.act({ type: 'not_found', id: 'K', why: 'none' })
    expect([acting.updateState, acting.reminder]).toEqual(['idle', reminder])
  })
})

describe('a device that falls back after a finished update', () => {
  /** An automatic update is done, and the device reports an older firmware a minute later. */
  const fallBack = (
    acting: ActingUpdate,
    id: string,
    more: Partial<UpdateCommands['begin']> = {},
    firmware = '1.0.0',
  ) => {
    expect(begin(acting, id, more)).toBe('begun')
    acting.reports('INSTALLED')
    acting.reconnects('2.0.0', `${id} new`)
    expect([acting.updateState, acting.reminder]).toEqual(['done', null])
    acting.at += 60_000
    return acting.reconnects(firmware, `${id} old`)
  }

  test.each(['1.0.0', '0.9.0'])('to %s is updated again later, as often as after another failure', (old) => {
    for (let count = 1; count <= defaultAttempts; count++) {
      const events = updateEventsOf(fallBack(acting, `J${count}`, {}, old))
      expect(events).toEqual(['FAILED 2.0.0 the device fell back to an older firmware'])
      expect(acting.stored.attempts).toMatchObject([{ count, doneAt: null }])
      expect(begin(acting, 'early')).toBe('held_back')
      if (count === defaultAttempts) break
      const waitMs = (acting.reminder ?? 0) - acting.at
      expect(waitMs).toBeGreaterThanOrEqual(retryMsMin * 2 ** (count - 1) * 0.8)
      acting.at += waitMs
      acting.clearNotices()
      acting.due()
      expect(acting.received).toEqual(['retry A'])
    }
    expect(acting.reminder).toBeNull()
    acting.at += 10 * retryMsMax
    expect(begin(acting, 'more')).toBe('held_back')
  })

  test('is offered the firmware again only after a delay, even if the fallback was not reported', () => {
    const acting = ActingUpdate.offering()
    acting.reports('INSTALLED')
    acting.reconnects('2.0.0', 't')
    const [{ nextAt = 0 } = {}] = acting.stored.attempts
    expect(nextAt).toBeGreaterThan(acting.at)
    acting.at = (nextAt ?? 0) - 1
    expect(begin(acting, 'K')).toBe('held_back')
    acting.at += 1
    expect(begin(acting, 'K')).toBe('begun')
    expect(acting.stored.attempts).toMatchObject([{ count: 2 }])
  })

  test('after more than a day has no failed update, and is counted from the beginning', () => {
    for (const laterMs of [stayMsMin - 1, stayMsMin]) {
      const [state, count] = laterMs < stayMsMin ? ['failed', 2] : ['done', 1]
      const acting = ActingUpdate.offering()
      acting.reports('INSTALLED')
      acting.reconnects('2.0.0', 't')
      acting.at += laterMs
      acting.reconnects('1.0.0', 'u')
      expect(acting.updateState).toBe(state)
      if (state === 'failed') acting.at = acting.reminder ?? 0
      expect(begin(acting, 'K')).toBe('begun')
      expect(acting.stored.attempts).toMatchObject([{ count, doneAt: null }])
    }
  })

  test('is counted from the beginning after an update by hand, for another firmware, or for a new rollout', () => {
    fallBack(acting, 'J')
    acting.begins({ id: 'K', found: foundOf() })
    expect(acting.stored.attempts).toEqual([])

    const other = ActingUpdate.offering()
    other.reports('INSTALLED')
    other.reconnects('2.0.0', 't')
    expect(begin(other, 'K', { found: foundOf({ firmware: '2.0.1' }) })).toBe('begun')
    expect(other.stored.attempts).toMatchObject([{ firmware: '2.0.1', count: 1 }])

    const anew = new ActingUpdate()
    fallBack(anew, 'J')
    expect(begin(anew, 'K', { found: rollout(3) })).toBe('begun')
    expect(anew.stored.attempts).toMatchObject([{ rollout: 'R', count: 1 }])
  })

  test('has no failed update if the version is newer, or if it only sends HELLO again', () => {
    for (const reported of ['2.1.0 u', '1.0.0 s', '2.0.0 u']) {
      const [firmware, session] = reported.split(' ')
      const acting = ActingUpdate.offering()
      acting.reports('INSTALLED')
      acting.reconnects('2.0.0', 't')
      expect(acting.reconnects(firmware, session).type).toBe('answer')
    }
  })
})

describe('several firmwares of one device', () => {
  const fail = (acting: ActingUpdate, id: string, offered: Parameters<typeof foundOf>[0]) => {
    const outcome = begin(acting, id, { found: foundOf(offered) })
    if (outcome === 'begun') acting.reports('FAILED')
    return outcome
  }

  test.each([
    ['of two indexes', { index: 0 }, { index: 1 }],
    ['of one index', { firmware: '2.0.0' }, { firmware: '2.0.1' }],
  ])('%s, which fail in turn, are each tried three times', (_, one, next) => {
    for (let count = 1; count <= defaultAttempts; count++) {
      for (const offered of [one, next]) {
        expect(fail(acting, `${JSON.stringify(offered)} ${count}`, offered)).toBe('begun')
        expect(fail(acting, 'early', offered)).toBe('held_back')
      }
      acting.at += 2 * retryMsMax
    }
    for (const offered of [one, next]) expect(fail(acting, 'more', offered)).toBe('held_back')
    expect(acting.stored.attempts).toMatchObject([
      { ...one, count: defaultAttempts, nextAt: null },
      { ...next, count: defaultAttempts, nextAt: null },
    ])
  })

  test('that wait are tried again one after the other', () => {
    fail(acting, 'J', { index: 0 })
    acting.at += 1_000
    fail(acting, 'K', { index: 1 })
    acting.clearNotices()
    const times = acting.stored.attempts.map(({ nextAt }) => nextAt ?? 0).sort((a, b) => a - b)
    for (const time of times) {
      expect(acting.reminder).toBe(time)
      acting.at = time
      acting.due()
    }
    expect([acting.received, acting.reminder]).toEqual([['retry A', 'retry A'], null])
  })

  test('that are due during another update are tried after this update', () => {
    fail(acting, 'J', { index: 0 })
    const { reminder } = acting
    begin(acting, 'K', { found: foundOf({ index: 1 }) })
    acting.at = (reminder ?? 0) + 1
    acting.reports('FAILED')
    expect(acting.reminder).toBe(reminder)
  })

  test('of one index have a reminder only for the last one', () => {
    fail(acting, 'J', { firmware: '2.0.0' })
    acting.at += 1_000
    fail(acting, 'K', { firmware: '2.0.1' })
    expect(acting.reminder).toBe(acting.stored.attempts.find(({ firmware }) => firmware === '2.0.1')?.nextAt)
  })

  test('are forgotten if there are too many of one index, but not those of other indexes', () => {
    fail(acting, 'other', { index: 1 })
    for (let patch = 0; patch <= rememberedMax; patch++) fail(acting, `J${patch}`, { firmware: `2.0.${patch}` })
    const known = acting.stored.attempts.map(({ index, firmware }) => `${index}: ${firmware}`)
    expect(known).toEqual(['1: 2.0.0', ...Array.from({ length: rememberedMax }, (_, at) => `0: 2.0.${at + 1}`)])
  })

  test('are still remembered when a user starts another one by hand', () => {
    fail(acting, 'J', { index: 0 })
    acting.begins({ id: 'K', found: foundOf({ index: 1 }) })
    expect(acting.stored.attempts).toMatchObject([{ index: 0, count: 1 }])
  })
})

test('an update is not delayed without an earlier attempt', () => {
  for (const attempts of [[], undefined]) expect(isHeldBack(attempts, { index: 0, offer: offerOf() }, now)).toBe(false)
})
