import { describe, expect, test } from 'vitest'
import { checkingMsMax } from '#actors/update/machine'
import type { UpdateCommands } from '#actors/update/state'
import { triggerStatuses } from '#model/firmware'
import { ActingUpdate, begin, foundOf, offerTimeoutMs, updateEventsOf } from '#test/actors/update/acting-update'

function checking(): ActingUpdate {
  const acting = new ActingUpdate()
  acting.begins()
  return acting
}

/** Returns a function that brings an update into a state, and runs an action on it. */
const outcomeAfter = (begun: () => ActingUpdate, act: (acting: ActingUpdate) => Answer) => (): Outcome => {
  const acting = begun()
  acting.clearNotices()
  return { acting, decision: act(acting) }
}
type Answer = ReturnType<ActingUpdate['act']>

interface Outcome {
  readonly acting: ActingUpdate
  readonly decision: Answer
}

function dueAfter(acting: ActingUpdate, ms: number): Answer {
  acting.at += ms
  return acting.due()
}

function offering(): ActingUpdate {
  const acting = checking()
  acting.act({ type: 'found', id: 'J', ...foundOf() })
  acting.clearNotices()
  return acting
}

/** An update that ended because the update server gave no firmware for this reason. */
function notFound(why: UpdateCommands['not_found']['why'], message?: string) {
  const acting = checking()
  acting.clearNotices()
  const decision = acting.act({ type: 'not_found', id: 'J', why, ...(message !== undefined && { message }) })
  return { acting, decision }
}

describe('an update by hand', () => {
  test('asks the update server, offers its firmware, and is STARTED when the device reports it', () => {
    const acting = new ActingUpdate()
    expect(updateEventsOf(acting.record(begin({ firmwares: [] })))).toEqual(['CHECKING'])
    expect(acting.received).toEqual(['ask A J'])
    expect(updateEventsOf(acting.record({ type: 'found', id: 'J', ...foundOf() }))).toEqual(['OFFERING 2.0.0'])
    expect(acting.received).toEqual(['offer A J 2.0.0'])
    expect(updateEventsOf(acting.reports('STARTED'))).toEqual(['STARTED 2.0.0'])
    expect(acting.received).toEqual(['outcome A STARTED'])
    const downloads = [12.5, 100].map((progress) => acting.reports('DOWNLOADING', { progress }))
    const rest = [acting.reports('INSTALLING'), acting.reports('INSTALLED'), acting.reconnects('2.0.0', 't')]
    expect(downloads.flatMap(updateEventsOf)).toEqual(['DOWNLOADING 2.0.0 12.5%', 'VERIFYING 2.0.0 100%'])
    expect(rest.flatMap(updateEventsOf)).toEqual(['INSTALLING 2.0.0', 'REBOOTING 2.0.0', 'DONE 2.0.0'])
    expect(acting.received).toEqual([])
  })

  test.each(['STARTED', 'DOWNLOADING', 'INSTALLING', 'INSTALLED'] as const)(
    'has the outcome STARTED after %s',
    (status) => {
      const acting = offering()
      acting.reports(status)
      expect(acting.received).toEqual(['outcome A STARTED'])
    },
  )

  const reconnects = (firmware: string) => outcomeAfter(offering, (acting) => acting.reconnects(firmware, 't'))
  const notOk = outcomeAfter(offering, (acting) => acting.reports('NOT_OK', { message: 'Akku leer' }))
  const cameBack = 'the device came back with another firmware'
  const noUrl = { type: 'not_found', id: 'J', why: 'fault' } as const
  const unanswered = outcomeAfter(checking, (acting) => dueAfter(acting, checkingMsMax))
  const lost = outcomeAfter(offering, (acting) => acting.act({ type: 'lost', id: 'J' }))
  const silent = outcomeAfter(offering, (acting) => dueAfter(acting, offerTimeoutMs))

  /** The expected event has the state and the outcome, unless `event` is given. */
  const causes: [string, () => Outcome, state: string, outcome: string, event?: string][] = [
    ['no version is newer', () => notFound('none'), 'IDLE', 'NO_UPDATE'],
    ['the update server is busy', () => notFound('busy', '503'), 'FAILED', 'UPDATE_SERVER_OUT_OF_RESOURCES: 503'],
    ['the update server fails', () => notFound('failed'), 'FAILED', 'UPDATE_SERVER_ERROR'],
    ['this server fails', () => notFound('fault', 'no URL'), 'FAILED', 'SERVER_ERROR: no URL'],
    [
      'the update server does not answer',
      unanswered,
      'FAILED',
      'UPDATE_SERVER_ERROR: the update server did not answer in time',
    ],
    ['the device refuses', notOk, 'REFUSED 2.0.0', 'DEVICE_NOT_OK: Akku leer'],
    ['the device fails', outcomeAfter(offering, (acting) => acting.reports('FAILED')), 'FAILED 2.0.0', 'DEVICE_NOT_OK'],
    [
      'the connection of the device is lost',
      lost,
      'FAILED 2.0.0',
      'DEVICE_OFFLINE: the connection of the device was lost',
    ],
    ['the device does not answer', silent, 'FAILED 2.0.0', 'DEVICE_OFFLINE: the device did not answer in time'],
    ['no URL can be made', outcomeAfter(offering, (acting) => acting.act(noUrl)), 'FAILED 2.0.0', 'SERVER_ERROR'],
    ['the device connects with the target version', reconnects('2.0.0'), 'DONE 2.0.0', 'NO_UPDATE', 'DONE 2.0.0'],
    ['the device connects with another version', reconnects('1.5.0'), 'FAILED 2.0.0', `DEVICE_NOT_OK: ${cameBack}`],
  ]
  test.each(causes)('ends if %s', (_, happen, state, outcome, event = `${state} ${outcome}`) => {
    const { acting, decision } = happen()
    expect(updateEventsOf(decision)).toEqual([event])
    expect(acting.received).toEqual([`outcome A ${outcome}`])
    expect([acting.reminder, acting.stored.attempts]).toEqual([null, []])
  })

  test('has a cause in this table for every outcome', () => {
    const covered = new Set(['STARTED', ...causes.map(([, , , outcome]) => outcome.split(':')[0])])
    expect([...covered].sort()).toEqual([...triggerStatuses].sort())
  })
})

describe('a repeated request', () => {
  test('joins the active update, and begins no other update', () => {
    const acting = checking()
    expect(acting.begins({ id: 'K' })).toEqual({ outcome: 'joined', state: 'checking' })
    acting.act({ type: 'found', id: 'J', ...foundOf() })
    expect(acting.begins({ id: 'J' })).toEqual({ outcome: 'joined', state: 'offering' })
    expect(acting.begins({ by: 'hook', id: 'K', found: foundOf() })).toEqual({ outcome: 'joined', state: 'offering' })
    acting.reports('STARTED')
    expect(acting.begins({ id: 'K' })).toEqual({ outcome: 'joined', state: 'started' })
    expect(acting.stored.context.id).toBe('J')
  })

  test('with the id of an ended update returns the earlier result', () => {
    const { acting } = notFound('none')
    expect(acting.begins({ id: 'J' })).toEqual({ outcome: 'over', result: { status: 'NO_UPDATE' } })
    expect(acting.updateState).toBe('idle')
    expect(acting.begins({ id: 'K' })).toEqual({ outcome: 'begun', id: 'K' })
    expect(acting.updateState).toBe('checking')
  })

  test('receives a late answer, which is published only once', () => {
    const acting = offering()
    acting.act({ type: 'lost', id: 'J' })
    acting.clearNotices()
    expect(updateEventsOf(acting.reports('STARTED'))).toEqual(['STARTED 2.0.0'])
    expect(acting.received).toEqual([])
    expect(acting.stored.context).toMatchObject({ reason: null, message: null })
  })
})

test('an automatic update is offered at once, without a published request', () => {
  const acting = new ActingUpdate()
  const decision = acting.record(begin({ by: 'connect', found: foundOf() }))
  expect(updateEventsOf(decision)).toEqual(['OFFERING 2.0.0'])
  expect(acting.received).toEqual(['offer A J 2.0.0'])
})

describe('messages', () => {
  test('of a device are cut at 256 characters, but not within a character', () => {
    const acting = offering()
    acting.reports('STARTED', { message: `${'x'.repeat(255)}😀` })
    expect(acting.stored.context.message).toBe('x'.repeat(255))
    acting.reports('DOWNLOADING', { message: 'y'.repeat(300) })
    expect(acting.stored.context.message).toBe('y'.repeat(256))
    acting.reports('INSTALLING', { message: '' })
    expect(acting.stored.context.message).toBeNull()
  })

  test('about another update are ignored', () => {
    const acting = offering()
    expect(acting.reports('STARTED', { id: 'K' }).type).toBe('answer')
    expect(acting.act({ type: 'lost', id: 'K' }).type).toBe('answer')
    expect(acting.act({ type: 'not_found', id: 'K', why: 'fault' }).type).toBe('answer')
    expect(acting.act({ type: 'found', id: 'K', ...foundOf() }).type).toBe('answer')
    expect(new ActingUpdate().act({ type: 'lost', id: 'K' }).type).toBe('answer')
    expect(acting.updateState).toBe('offering')
  })
})
