import { beforeEach, describe, expect, test } from 'vitest'
import { noThrottles } from '#actors/device/state'
import { type Throttled, throttlesMax } from '#actors/device/state-changes'
import type { Graph, GraphNode } from '#model/graph'
import { now } from '#test/actors/acting-actor'
import { hello, post, report, shapeOf, shownState } from '#test/actors/acting-device'
import {
  chain,
  DeviceWithFunctions,
  mail,
  onProperty,
  requestsOf,
  stampsIn,
  storedFunction,
  throttle,
} from '#test/actors/functions-fixture'
import { storedAlarm } from '#test/rules/stored-rules'

const svc = shapeOf('svc', { 1: 'uint8', 2: 'uint8' })

/** A connected device with one function F1, which mails changes of property 1 at most once every ten seconds. */
class LinkedDevice extends DeviceWithFunctions {
  seq = 0

  constructor(graph: Graph = chain(onProperty(1), throttle(10), mail)) {
    super()
    this.act(hello([{ shape: svc, items: [] }]))
    this.put('F1', storedFunction(graph))
  }

  reports(...items: number[]) {
    return this.act(report(svc, ++this.seq, items))
  }
}

const onStatus: GraphNode = { id: 'when', type: 'trigger', on: 'status' }

let device: LinkedDevice
beforeEach(() => {
  device = new LinkedDevice()
})

describe('a throttle', () => {
  test.each([
    [0, false],
    [9_999, false],
    [10_000, true],
    [60_000, true],
    [-1, true],
  ])('passes an event %i ms after the last one: %s', (afterMs, passes) => {
    expect(requestsOf(device.reports(0, 1))).toHaveLength(1)
    device.at += afterMs
    expect(requestsOf(device.reports(0, 2))).toHaveLength(passes ? 1 : 0)
    expect(device.stamps).toEqual({ 'F1/throttle': passes ? now + afterMs : now })
  })

  test('is stored with the report that passed it, and not with other reports', () => {
    expect(stampsIn(device.reports(0, 1))).toEqual([['F1/throttle', now]])
    expect(stampsIn(device.reports(0, 2))).toEqual([])
    expect(stampsIn(device.reports(1, 2))).toEqual([])
  })

  test('passes one of several events of a turn', () => {
    const decision = device.act(post([6, 7].map((value) => ['svc', 1, value, value * 1_000] as const)))
    expect(requestsOf(decision)).toEqual(['F1/mail 6, was null'])
    expect(stampsIn(decision)).toEqual([['F1/throttle', now]])
  })
})

describe('the time of a throttle is stored if the throttle passed', () => {
  const alarm = storedAlarm({ serviceIdentifier: 'svc', condition: { '>': [{ var: '0x01' }, 10] }, forSeconds: 2 })
  const onAlarm: GraphNode = { id: 'when', type: 'trigger', on: 'alarm', alarmId: 'I1' }
  const throttled = { type: 'throttled', stamps: ['F1/throttle', now], dropped: [] }

  test('a change of the status', () => {
    const device = new LinkedDevice(chain(onStatus, throttle(10), mail))
    const decision = device.record({ type: 'status', status: 'idle' })
    expect(decision).toMatchObject({ changes: [throttled, { type: 'functions_run' }], isCheckpointed: true })
    expect(device.stamps).toEqual({ 'F1/throttle': now })
    expect(shownState(device.restored())).toEqual(shownState(device.state))
    expect(device.act({ type: 'status', status: 'offline' })).not.toHaveProperty('isCheckpointed')
  })

  test('an alarm with a minimum duration, and an alarm that a report changes at once', () => {
    const device = new LinkedDevice(chain(onAlarm, throttle(10), mail))
    device.putAlarm('I1', alarm)
    device.reports(0, 11)
    device.at += 2_000
    const due = device.due()
    const stamped = { stamps: ['F1/throttle', now + 2_000] }
    expect(due).toMatchObject({ changes: [stamped, { type: 'functions_run' }], isCheckpointed: true })
    device.putAlarm('I1', { ...alarm, forSeconds: 0, edit: 2 })
    device.at += 60_000
    device.reports(0, 1)
    device.at += 60_000
    expect(stampsIn(device.reports(0, 11))).toEqual([['F1/throttle', device.at]])
  })

  test('a HELLO', () => {
    const decision = device.record(hello([{ shape: svc, items: [0, 5] }]))
    expect(decision.changes).toContainEqual(throttled)
    expect(decision.isCheckpointed).toBe(true)
    expect(shownState(device.restored())).toEqual(shownState(device.state))
  })
})

describe('throttle times', () => {
  test('stay while the function is edited or disabled', () => {
    const graph = chain(onProperty(1), throttle(10), mail)
    device.reports(0, 1)
    device.put('F1', storedFunction(graph, { name: 'Other', edit: 2 }))
    expect(requestsOf(device.reports(0, 2))).toEqual([])
    device.put('F1', storedFunction(graph, { enabled: false, edit: 3 }))
    device.put('F2', storedFunction(chain(onProperty(2), throttle(10), mail)))
    device.reports(0, 3, 1, 1)
    device.put('F1', storedFunction(graph, { edit: 4 }))
    expect(requestsOf(device.reports(0, 4))).toEqual([])
    expect(Object.keys(device.stamps)).toEqual(['F1/throttle', 'F2/throttle'])
  })

  test('of deleted nodes and functions are dropped when the next time is stored', () => {
    device.reports(0, 1)
    device.put('F2', storedFunction(chain(onProperty(1), throttle(10), mail)))
    device.reports(0, 2)
    device.put('F1', storedFunction(chain(onProperty(1), mail), { edit: 2 }))
    device.put('F2', undefined)
    device.reports(0, 3)
    expect(Object.keys(device.stamps)).toEqual(['F1/throttle', 'F2/throttle'])
    device.put('F3', storedFunction(chain(onProperty(1), throttle(10, 'other'), mail)))
    const decision = device.record(report(svc, ++device.seq, [0, 4]))
    const dropped: Throttled = { type: 'throttled', stamps: [], dropped: ['F1/throttle', 'F2/throttle'] }
    expect(decision).toMatchObject({ changes: [dropped, { type: 'functions_run' }], isCheckpointed: true })
    expect(device.stamps).toEqual({ 'F3/other': now })
    expect(shownState(device.restored())).toEqual(shownState(device.state))
  })

  test('are deleted with the device', () => {
    device.reports(0, 1)
    device.act({ type: 'remove' })
    expect(device.state.throttles).toBe(noThrottles)
    device.act({ type: 'add', flakeAddress: 8, meta: {} })
    device.act(hello([{ shape: svc, items: [] }]))
    device.seq = 0
    expect(requestsOf(device.reports(0, 1))).toHaveLength(1)
  })

  test('have a maximum, above which the oldest are dropped, both live and in a replay', () => {
    const device = new LinkedDevice(chain(onProperty(2), mail))
    const count = 20
    for (let fn = 0; fn < count; fn++) {
      const throttles = Array.from({ length: 15 }, (_, index) => throttle(10, `n${index}`))
      device.put(`G${String(fn).padStart(2, '0')}`, storedFunction(chain(onProperty(1), ...throttles, mail)))
    }
    const before = device.restored()
    const offsetBefore = device.offset
    const decision = device.record(report(svc, ++device.seq, [0, 1]))
    expect(stampsIn(decision)[0]).toHaveLength(2 * count * 15)
    expect(device.state.throttles.size).toBe(throttlesMax)
    expect([...device.state.throttles.keys()][0]).toBe('G02/n14')
    expect(device.state.throttles.has('G19/n14')).toBe(true)
    for (const [at, event] of decision.events.entries()) device.definition.apply(before, event, offsetBefore + 1 + at)
    expect(shownState(before)).toEqual(shownState(device.state))
  })
})
