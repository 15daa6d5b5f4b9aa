import { describe, expect, test } from 'vitest'
import type { NoUpdateFound } from '#actors/update/commands'
import { checkingMsMax } from '#actors/update/machine'
import { triggerStatuses } from '#model/firmware'
import { ActingUpdate, foundOf, offerTimeoutMs, updateEventsOf } from '#test/actors/update/acting-update'

function asked(): ActingUpdate {
  const acting = new ActingUpdate()
  acting.begins()
  return acting
}

/** The result of an action on an update in this state. */
const actedOn = (stands: () => ActingUpdate, act: (acting: ActingUpdate) => Acted) => () => {
  const acting = stands()
  acting.forgetHeard()
  return { acting, decision: act(acting) }
}
type Acted = ReturnType<ActingUpdate['act']>

function dueAfter(acting: ActingUpdate, ms: number): Acted {
  acting.at += ms
  return acting.due()
}

function offered(): ActingUpdate {
  const acting = asked()
  acting.act({ type: 'found', id: 'J', ...foundOf() })
  acting.forgetHeard()
  return acting
}

/** `why`: the reason why the update server gave no firmware. */
function notFound(why: NoUpdateFound['why'], message?: string) {
  const acting = asked()
  acting.forgetHeard()
  const decision = acting.act({ type: 'not_found', id: 'J', why, ...(message !== undefined && { message }) })
  return { acting, decision }
}

describe('an update by hand', () => {
  test('asks the update server, offers its firmware, and is STARTED when the device reports it', () => {
    const acting = new ActingUpdate()
    expect(
      updateEventsOf(
        acting.record({ type: 'begin', by: 'post', project: 'p', firmwares: [], session: 's', seed: 'J', found: null }),
      ),
    ).toEqual(['CHECKING'])
    expect(acting.received).toEqual(['ask A J'])
    expect(updateEventsOf(acting.record({ type: 'found', id: 'J', ...foundOf() }))).toEqual(['OFFERING 2.0.0'])
    expect(acting.received).toEqual(['offer A J 2.0.0'])
    expect(updateEventsOf(acting.says('STARTED'))).toEqual(['STARTED 2.0.0'])
    expect(acting.received).toEqual(['outcome A STARTED'])
    const rest = [
      acting.says('DOWNLOADING', { progress: 12.5 }),
      acting.says('DOWNLOADING', { progress: 100 }),
      acting.says('INSTALLING'),
      acting.says('INSTALLED'),
      acting.back('2.0.0', 't'),
    ]
    expect(rest.flatMap(updateEventsOf)).toEqual([
      'DOWNLOADING 2.0.0 12.5%',
      'VERIFYING 2.0.0 100%',
      'INSTALLING 2.0.0',
      'REBOOTING 2.0.0',
      'DONE 2.0.0',
    ])
    expect(acting.received).toEqual([])
  })

  test.each(['STARTED', 'DOWNLOADING', 'INSTALLING', 'INSTALLED'] as const)('is STARTED only by %s', (status) => {
    const acting = offered()
    acting.says(status)
    expect(acting.received).toEqual(['outcome A STARTED'])
  })

  const causes: readonly (readonly [string, () => { acting: ActingUpdate; decision: Acted }, string, string])[] = [
    ['no version is newer', () => notFound('none'), 'NO_UPDATE', 'IDLE NO_UPDATE'],
    [
      'the update server is busy',
      () => notFound('busy', '503'),
      'UPDATE_SERVER_OUT_OF_RESOURCES: 503',
      'FAILED UPDATE_SERVER_OUT_OF_RESOURCES: 503',
    ],
    ['the update server fails', () => notFound('failed'), 'UPDATE_SERVER_ERROR', 'FAILED UPDATE_SERVER_ERROR'],
    ['this server fails', () => notFound('fault', 'no URL'), 'SERVER_ERROR: no URL', 'FAILED SERVER_ERROR: no URL'],
    [
      'the update server does not answer',
      actedOn(asked, (acting) => dueAfter(acting, checkingMsMax)),
      'UPDATE_SERVER_ERROR: did not answer in time',
      'FAILED UPDATE_SERVER_ERROR: did not answer in time',
    ],
    [
      'the device refuses',
      actedOn(offered, (acting) => acting.says('NOT_OK', { message: 'Akku leer' })),
      'DEVICE_NOT_OK: Akku leer',
      'REFUSED 2.0.0 DEVICE_NOT_OK: Akku leer',
    ],
    [
      'the device fails before it began',
      actedOn(offered, (acting) => acting.says('FAILED')),
      'DEVICE_NOT_OK',
      'FAILED 2.0.0 DEVICE_NOT_OK',
    ],
    [
      'the link is lost',
      actedOn(offered, (acting) => acting.act({ type: 'lost', id: 'J' })),
      'DEVICE_OFFLINE: its connection was lost',
      'FAILED 2.0.0 DEVICE_OFFLINE: its connection was lost',
    ],
    [
      'the device does not answer',
      actedOn(offered, (acting) => dueAfter(acting, offerTimeoutMs)),
      'DEVICE_OFFLINE: it did not answer in time',
      'FAILED 2.0.0 DEVICE_OFFLINE: it did not answer in time',
    ],
    [
      'no URL can be made',
      actedOn(offered, (acting) => acting.act({ type: 'not_found', id: 'J', why: 'fault' })),
      'SERVER_ERROR',
      'FAILED 2.0.0 SERVER_ERROR',
    ],
    [
      'the device connects with the target version',
      actedOn(offered, (acting) => acting.back('2.0.0', 't')),
      'NO_UPDATE',
      'DONE 2.0.0',
    ],
    [
      'the device connects with another version',
      actedOn(offered, (acting) => acting.back('1.5.0', 't')),
      'DEVICE_NOT_OK: it came back with another firmware',
      'FAILED 2.0.0 DEVICE_NOT_OK: it came back with another firmware',
    ],
  ]
  test.each(causes)('if %s', (_, happen, outcome, event) => {
    const { acting, decision } = happen()
    expect(updateEventsOf(decision)).toEqual([event])
    expect(acting.received).toEqual([`outcome A ${outcome}`])
    expect([acting.reminder, acting.stands.attempts]).toEqual([null, []])
  })

  test('has a cause here for every status', () => {
    const seen = new Set(['STARTED', ...causes.map(([, , outcome]) => outcome.split(':')[0])])
    expect([...seen].sort()).toEqual([...triggerStatuses].sort())
  })
})

describe('a repeated request', () => {
  test('joins the active update, and begins no other one', () => {
    const acting = asked()
    expect(acting.begins({ seed: 'K' })).toEqual({ outcome: 'joined', state: 'checking' })
    acting.act({ type: 'found', id: 'J', ...foundOf() })
    expect(acting.begins({ seed: 'J' })).toEqual({ outcome: 'joined', state: 'offering' })
    expect(acting.begins({ by: 'hook', seed: 'K', found: foundOf() })).toEqual({ outcome: 'joined', state: 'offering' })
    acting.says('STARTED')
    expect(acting.begins({ seed: 'K' })).toEqual({ outcome: 'joined', state: 'started' })
    expect(acting.stands.context.id).toBe('J')
  })

  test('with the id of an ended update returns the earlier result', () => {
    const { acting } = notFound('none')
    expect(acting.begins({ seed: 'J' })).toEqual({ outcome: 'over', result: { status: 'NO_UPDATE' } })
    expect(acting.standsAt).toBe('idle')
    expect(acting.begins({ seed: 'K' })).toEqual({ outcome: 'begun', id: 'K' })
    expect(acting.standsAt).toBe('checking')
  })

  test('receives a late answer, which is published only once', () => {
    const acting = offered()
    acting.act({ type: 'lost', id: 'J' })
    acting.forgetHeard()
    expect(updateEventsOf(acting.says('STARTED'))).toEqual(['STARTED 2.0.0'])
    expect(acting.received).toEqual([])
    expect(acting.stands.context).toMatchObject({ reason: null, message: null })
  })
})

describe('an automatic update', () => {
  test('is offered at once, without a published request', () => {
    const acting = new ActingUpdate()
    const decision = acting.record({
      type: 'begin',
      by: 'connect',
      project: 'p',
      firmwares: [{ firmware: '1.0.0', index: 0 }],
      session: 's',
      seed: 'J',
      found: foundOf(),
    })
    expect(updateEventsOf(decision)).toEqual(['OFFERING 2.0.0'])
    expect(acting.received).toEqual(['offer A J 2.0.0'])
  })
})

describe('texts', () => {
  test('of a device are cut at 256 characters, between whole ones', () => {
    const acting = offered()
    acting.says('STARTED', { message: `${'x'.repeat(255)}😀` })
    expect(acting.stands.context.message).toBe('x'.repeat(255))
    acting.says('DOWNLOADING', { message: 'y'.repeat(300) })
    expect(acting.stands.context.message).toBe('y'.repeat(256))
    acting.says('INSTALLING', { message: '' })
    expect(acting.stands.context.message).toBeNull()
  })

  test('about another update are ignored', () => {
    const acting = offered()
    expect(acting.says('STARTED', { id: 'K' }).type).toBe('answer')
    expect(acting.act({ type: 'lost', id: 'K' }).type).toBe('answer')
    expect(acting.act({ type: 'not_found', id: 'K', why: 'fault' }).type).toBe('answer')
    expect(acting.act({ type: 'found', id: 'K', ...foundOf() }).type).toBe('answer')
    expect(new ActingUpdate().act({ type: 'lost', id: 'K' }).type).toBe('answer')
    expect(acting.standsAt).toBe('offering')
  })
})
