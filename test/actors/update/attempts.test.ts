import { describe, expect, test } from 'vitest'
import { isHeldBack, retryMsMax, retryMsMin } from '#actors/update/attempts'
import type { BeginUpdate } from '#actors/update/commands'
import { defaultAttempts } from '#model/rollout'
import { now } from '#test/actors/acting-actor'
import { ActingUpdate, foundOf, offerOf } from '#test/actors/update/acting-update'

const rollout = (maxAttempts: number, id = 'R') => foundOf({ rollout: { id, maxAttempts } })
const begins = (acting: ActingUpdate, seed: string, more: Partial<BeginUpdate> = {}) =>
  acting.begins({ by: 'connect', seed, found: foundOf(), ...more }).outcome

describe('an update that began by itself and was in vain', () => {
  test.each(['FAILED', 'NOT_OK'] as const)(
    'by %s is tried again, each time later, and three times in all',
    (status) => {
      const acting = new ActingUpdate()
      for (let count = 1; count <= defaultAttempts; count++) {
        expect(begins(acting, `J${count}`, { by: 'cron' })).toBe('begun')
        expect(acting.stands.attempts).toMatchObject({
          firmware: '2.0.0',
          index: 0,
          rollout: null,
          count,
          nextAt: null,
        })
        acting.says(status)
        acting.forgetHeard()
        if (count === defaultAttempts) break
        const waitMs = (acting.reminder ?? 0) - acting.at
        const meanMs = retryMsMin * 2 ** (count - 1)
        expect(waitMs).toBeGreaterThanOrEqual(meanMs * 0.8)
        expect(waitMs).toBeLessThanOrEqual(meanMs * 1.2)
        acting.at += waitMs - 1
        expect(begins(acting, 'early')).toBe('held_back')
        expect(acting.due()).toMatchObject({ type: 'record', reminder: acting.at + 1 })
        expect(acting.heard).toEqual([])
        acting.at += 1
        acting.due()
        expect([acting.heard, acting.reminder]).toEqual([['retry A cron'], null])
      }
      expect([acting.reminder, acting.stands.attempts?.nextAt]).toEqual([null, null])
      acting.at += 10 * retryMsMax
      expect(begins(acting, 'more')).toBe('held_back')
    },
  )

  test('is tried as often as its rollout says, and at last once a day', () => {
    const acting = new ActingUpdate()
    let waitMs = 0
    for (let count = 1; count <= 20; count++) {
      expect(begins(acting, `J${count}`, { found: rollout(20) })).toBe('begun')
      acting.says('FAILED')
      if (count === 20) break
      waitMs = (acting.reminder ?? 0) - acting.at
      acting.at += waitMs
    }
    expect(acting.reminder).toBeNull()
    expect(waitMs).toBeGreaterThanOrEqual(retryMsMax * 0.8)
    expect(waitMs).toBeLessThanOrEqual(retryMsMax * 1.2)
  })

  test.each<readonly [string, Partial<BeginUpdate>, number]>([
    ['another firmware', { found: foundOf({ firmware: '2.0.1' }) }, 1],
    ['another index', { found: foundOf({ index: 1 }) }, 1],
    ['a rollout put anew', { found: rollout(3) }, 1],
  ])('does not hold back %s, which counts from the beginning', (_, more, count) => {
    const acting = ActingUpdate.offering()
    acting.says('FAILED')
    expect(begins(acting, 'K')).toBe('held_back')
    expect(begins(acting, 'K', more)).toBe('begun')
    expect(acting.stands.attempts).toMatchObject({ count, nextAt: null })
  })

  test('does not hold back who asks by hand, and counts from the beginning then', () => {
    const acting = ActingUpdate.offering()
    acting.says('FAILED')
    expect(acting.begins({ seed: 'K' }).outcome).toBe('begun')
    acting.act({ type: 'found', id: 'K', ...foundOf() })
    acting.says('FAILED')
    expect([acting.stands.attempts, acting.reminder]).toEqual([null, null])
    expect(begins(acting, 'L')).toBe('begun')
    expect(acting.stands.attempts?.count).toBe(1)
  })

  test('is not tried again while it goes on after all, and is no other attempt', () => {
    const acting = ActingUpdate.offering()
    acting.act({ type: 'lost', id: 'J' })
    expect(acting.stands.attempts?.nextAt).not.toBeNull()
    acting.says('DOWNLOADING')
    expect(acting.stands.attempts).toMatchObject({ count: 1, nextAt: null })
    expect(acting.reminder).toBe(acting.stands.context.deadline)
    acting.says('FAILED')
    expect(acting.stands.attempts).toMatchObject({ count: 1 })
    expect(acting.reminder).toBe(acting.stands.attempts?.nextAt)
  })

  test('is forgotten when it is done', () => {
    const acting = ActingUpdate.offering()
    acting.says('FAILED')
    acting.back('2.0.0', 't')
    expect([acting.standsAt, acting.stands.attempts, acting.reminder]).toEqual(['done', null, null])
  })

  test('is still tried again when there was nothing to be had by hand meanwhile', () => {
    const acting = ActingUpdate.offering()
    acting.says('FAILED')
    const { reminder } = acting
    acting.begins({ seed: 'K' })
    expect(acting.reminder).toBe(acting.stands.context.deadline)
    acting.act({ type: 'not_found', id: 'K', why: 'none' })
    expect([acting.standsAt, acting.reminder]).toEqual(['idle', reminder])
  })
})

test('nobody is held back where nothing was tried', () => {
  for (const attempts of [null, undefined])
    expect(isHeldBack(attempts, { index: 0, offer: offerOf() }, now)).toBe(false)
})
