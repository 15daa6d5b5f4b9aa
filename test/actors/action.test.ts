import { describe, expect, test } from 'vitest'
import { actionActor, actionPageActor, runningActionIndex } from '#actors/action/action'
import { actionRetentionMs, type DeviceOutcome } from '#model/action'
import { ActingActor, now, outcomeOf } from '#test/actors/acting-actor'

const action = { serviceIdentifier: 'svc', updates: { '1': 5 }, createdBy: 'crn#user:U1', total: 3 }
const begin = { type: 'begin', action } as const
const due = { type: 'reminder_due', dueAt: 0 } as const
const ok: DeviceOutcome = { status: 'OK' }
const offline: DeviceOutcome = { status: 'DEVICE_OFFLINE' }

describe('an action', () => {
  const acting = () => new ActingActor(actionActor, { id: 'J' })
  const entry = (isPresent: boolean) => [{ index: runningActionIndex, entry: 'J', isPresent }]

  test('is stored as active, with a reminder at the end of its retention', () => {
    const actor = acting()
    expect(actor.record(begin).indexes).toEqual(entry(true))
    expect(actor.state.stored).toEqual({ ...action, createdAt: now, isDone: false })
    expect(actor.reminder).toBe(now + actionRetentionMs)
  })

  test('can begin only once', () => {
    const actor = acting()
    actor.act(begin)
    expect(outcomeOf(actor.act(begin))).toBe('conflict: the id is taken')
    expect(actor.state.stored?.createdAt).toBe(now)
  })

  test('is finished once, and then leaves the index of active actions', () => {
    const actor = acting()
    expect(actor.act({ type: 'done' }).type).toBe('answer')
    actor.act(begin)
    expect(actor.record({ type: 'done' }).indexes).toEqual(entry(false))
    expect(actor.state.stored?.isDone).toBe(true)
    expect(actor.act({ type: 'done' }).type).toBe('answer')
  })

  test.each([false, true])('is deleted at the end of its retention (done: %s)', (isDone) => {
    const actor = acting()
    actor.act(begin)
    if (isDone) actor.act({ type: 'done' })
    expect(actor.record(due).indexes).toEqual(entry(false))
    expect([actor.records.size, actor.state.stored]).toEqual([0, undefined])
    expect(actor.act(due).type).toBe('answer')
  })
})

describe('a page of results', () => {
  const acting = () => {
    const actor = new ActingActor(actionPageActor, { id: 'J.0' })
    actor.act({ type: 'put', devices: ['A', 'B', 'C'] })
    return actor
  }
  const outcomes = (...of: (readonly [number, DeviceOutcome])[]) => ({ type: 'outcomes', outcomes: of }) as const

  test('begins with its devices and no results', () => {
    expect(acting().state.stored).toEqual({ createdAt: now, devices: ['A', 'B', 'C'], outcomes: [null, null, null] })
  })

  test('stores the result of each device, and answers how many results are missing', () => {
    const actor = acting()
    expect(outcomeOf(actor.act(outcomes([2, ok])))).toEqual({ pending: 2 })
    expect(outcomeOf(actor.act(outcomes([0, offline], [1, ok])))).toEqual({ pending: 0 })
    expect(actor.state.stored?.outcomes).toEqual([offline, ok, ok])
  })

  test('keeps the first of several results of a device, and ignores unknown devices', () => {
    const actor = acting()
    actor.act(outcomes([1, ok], [1, offline]))
    const decision = actor.act(outcomes([1, offline], [3, ok]))
    expect([decision.type, outcomeOf(decision)]).toEqual(['answer', { pending: 2 }])
    expect(actor.state.stored?.outcomes).toEqual([null, ok, null])
  })

  test('has other devices and no results after it is put again', () => {
    const actor = acting()
    actor.at = now + 5
    actor.act({ type: 'put', devices: ['D'] })
    expect(actor.state.stored).toEqual({ createdAt: now + 5, devices: ['D'], outcomes: [null] })
  })

  test('is deleted after its action, and later results change nothing', () => {
    const actor = acting()
    expect(actor.reminder).toBeGreaterThan(now + actionRetentionMs)
    actor.act(due)
    expect(actor.records.size).toBe(0)
    expect(outcomeOf(actor.act(outcomes([0, ok])))).toEqual({ pending: 0 })
    expect([actor.records.size, actor.act(due).type]).toEqual([0, 'answer'])
  })
})
