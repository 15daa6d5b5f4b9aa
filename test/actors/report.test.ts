import { beforeEach, describe, expect, test } from 'vitest'
import { aheadMsMax } from '#actors/device/report'
import type { Items } from '#model/entry'
import { now } from '#test/actors/acting-actor'
import { ActingDevice, hello, kindsOf, post, report, shapeOf } from '#test/actors/acting-device'

const one = shapeOf('svc', { 1: 'uint8', 2: 'string' })
const two = shapeOf('two', { 5: 'float' })

function connected(): ActingDevice {
  const device = ActingDevice.added()
  device.act(hello([one, two].map((shape) => ({ shape, items: [] }))))
  return device
}

const dayMs = 24 * 60 * 60_000

let device: ActingDevice
beforeEach(() => {
  device = connected()
})

describe('a report', () => {
  test('is one entry with the items in the order of the device, also if a property occurs twice', () => {
    const items: Items = [1, 'x', 0, 5, 1, 'y']
    for (const seq of [1, 2]) {
      const { events, answer } = device.record(report(one, seq, items))
      expect(events).toMatchObject([
        { kind: 'reported', device: 'A', flakeAddress: 7, shape: one, seq, items, at: now },
      ])
      expect(answer).toBe(seq)
    }
    expect(device.state.services[0]?.states()).toEqual([5, 'y'])
    expect(device.state).toMatchObject({ seq: 2, session: 's', lastMessage: now })
  })

  test.each([
    ['no time', undefined, now],
    ['the past', 5, 5],
    ['1970', 0, 0],
    ['a short time ahead', now + 1_000, now + 1_000],
    ['a day ahead', now + dayMs, now + dayMs],
    ['more than a day ahead', now + dayMs + 1, now],
  ])('keeps the time of the device, unless it is more than a day ahead: %s', (_, timestamp, expected) => {
    expect(aheadMsMax).toBe(dayMs)
    const device = connected()
    const { events } = device.record(report(one, 1, [0, 5], { timestamp }))
    expect(events).toMatchObject([{ at: now, timestamp: expected }])
    expect(device.state.services[0]?.timeOf(0)).toBe(expected)
  })

  test('replaces earlier values, also with an earlier time', () => {
    device.act(report(one, 1, [0, 5], { timestamp: 500 }))
    device.act(report(one, 2, [0, 6], { timestamp: 400 }))
    expect(device.state.services[0]?.states()).toEqual([6, null])
    expect(device.state.services[0]?.times()).toEqual([400, 0])
  })

  test('of an error replaces the value', () => {
    device.act(report(one, 1, [0, 5]))
    device.act(report(one, 2, [0, { error: 'broken' }]))
    expect(device.state.services[0]?.stateOf(0)).toEqual({ error: 'broken' })
  })

  test.each([
    ['a device that does not exist', new ActingDevice(), one, 'device_unknown'],
    ['a service that the device lacks', connected(), shapeOf('other', { 1: 'uint8' }), 'service_unknown'],
    ['an outdated shape of a service', connected(), shapeOf('svc', { 1: 'uint8' }), 'service_unknown'],
  ])('of %s is refused', (_, device, shape, code) => {
    expect(device.act(report(shape, 1, [0, 5]))).toMatchObject({ type: 'refuse', problem: { code } })
  })
})

describe('sequence numbers of a session', () => {
  test.each([
    ['continue', 's1 s2 s3', '1 2 3'],
    ['may have gaps', 's1 s5 s6', '1 5 6'],
    ['are each accepted once, and the answer has the last one', 's3 s3 s1 s4', '3 =3 =3 4'],
    ['may begin with any number', 's1000 s999', '1000 =1000'],
    ['begin again with a new session', 's9 n1 n2', '9 1 2'],
    ['of an older session begin a new session', 's9 n1 s3', '9 1 3'],
  ])('%s', (_, reports, expected) => {
    const answers = reports.split(' ').map((text) => {
      const decision = device.act(report(one, Number(text.slice(1)), [0, 5], { session: text.slice(0, 1) }))
      if (decision.type === 'record') return `${decision.answer}`
      return decision.type === 'answer' ? `=${decision.value}` : decision.type
    })
    expect(answers.join(' ')).toBe(expected)
  })

  test('are stored with the session only in its first entry', () => {
    expect(device.record(report(one, 1, [0, 5])).events[0]).toMatchObject({ session: 's' })
    expect(device.record(report(one, 2, [0, 5])).events[0]).not.toHaveProperty('session')
  })
})

describe('a POST', () => {
  test('is one entry for each run of items with the same service and time', () => {
    const { events } = device.record(
      post([
        ['svc', 1, 5],
        ['svc', 2, 'x'],
        ['two', 5, 0.5],
        ['svc', 1, 6],
        ['svc', 1, 7, 100],
        ['svc', 2, 'y', 100],
      ]),
    )
    const reported = events.flatMap((event) => (event.kind === 'reported' ? [event] : []))
    expect(reported.map(({ shape, items, timestamp }) => [shape.serviceIdentifier, items, timestamp])).toEqual([
      ['svc', [0, 5, 1, 'x'], now],
      ['two', [0, 0.5], now],
      ['svc', [0, 6], now],
      ['svc', [0, 7, 1, 'y'], 100],
    ])
  })

  test('can declare services, and converts values to their types', () => {
    const device = ActingDevice.added()
    const shape = shapeOf('wide', { 1: 'int64', 2: 'uuid' })
    const services = [{ shape, items: [] }]
    const uuid = '0B9F3C1E-8C7A-4A51-9D0E-2F1B5A6C7D8E'
    const values = ['9007199254740993', uuid]
    const updates = values.map((value, place) => ['wide', place + 1, value] as const)
    const decision = device.record(post(updates, { services }))
    expect(kindsOf(decision)).toEqual(['reported', 'status_changed'])
    expect(decision).toMatchObject({ isCheckpointed: true, shared: [{ id: shape.id }] })
    expect(device.state.services[0]?.states()).toEqual(['9007199254740993', uuid.toLowerCase()])
  })

  test.each<[string, [service: string, propId: number, value: unknown], string]>([
    ['a service that is not declared', ['nope', 1, 5], 'updates.1.serviceIdentifier'],
    ['a property that is not declared', ['svc', 9, 5], 'updates.1.propId'],
    ['a value of another type', ['svc', 1, 256], 'updates.1.value'],
  ])('with %s changes nothing', (_, update, path) => {
    const decision = device.act(post([['svc', 1, 5], update]))
    expect(decision).toMatchObject({ type: 'refuse', problem: { code: 'invalid', details: [{ path }] } })
  })

  test('that declares services can only report values of these services', () => {
    const services = [{ shape: two, items: [] }]
    expect(device.act(post([['svc', 1, 5]], { services }))).toMatchObject({ type: 'refuse' })
    device.act(post([['two', 5, 1]], { services }))
    expect(device.state.services.map(({ shape }) => shape.serviceIdentifier)).toEqual(['two'])
  })

  test('is refused if the device does not exist', () => {
    expect(new ActingDevice().act(post([]))).toMatchObject({ type: 'refuse', problem: { code: 'device_unknown' } })
  })

  test('sets the device online with one event', () => {
    const device = ActingDevice.added()
    expect(kindsOf(device.act(post([])))).toEqual(['status_changed'])
    device.at += 1_000
    expect(kindsOf(device.act(post([])))).toEqual([])
    expect(device.state).toMatchObject({ status: 'online', numConnects: 1, lastConnect: now, lastMessage: now + 1_000 })
  })
})

describe('sequence numbers of POSTs after those of a device connection', () => {
  const update = [['svc', 1, 9]] as const

  test.each<[string, { session?: string; seq?: number }, { seq: number; session: string }]>([
    ['that are missing leave the number of the connection unchanged', {}, { seq: 3, session: 's' }],
    ['without a session are ignored', { seq: 1_000 }, { seq: 3, session: 's' }],
    ['of the session of the connection continue', { session: 's', seq: 4 }, { seq: 4, session: 's' }],
    ['of a new session begin again', { session: 'p', seq: 2 }, { seq: 2, session: 'p' }],
    ['of a new session without a number begin at 0', { session: 'p' }, { seq: 0, session: 'p' }],
  ])('%s', (_, { session, seq }, expected) => {
    for (const number of [1, 2, 3]) device.act(report(one, number, [0, number]))
    device.act(post(update, { session, seq }))
    expect(device.state).toMatchObject(expected)
    expect(device.state.services[0]?.stateOf(0)).toBe(9)
    // The next number of this session is accepted.
    const next = device.act(report(one, expected.seq + 1, [0, 77], { session: expected.session }))
    expect(next.type).toBe('record')
    expect(device.state.services[0]?.stateOf(0)).toBe(77)
  })

  test('a repeated POST changes nothing', () => {
    device.act(post(update, { session: 'p', seq: 5 }))
    device.act(report(one, 6, [0, 10], { session: 'p' }))
    expect(kindsOf(device.act(post(update, { session: 'p', seq: 5 })))).toEqual([])
    expect(kindsOf(device.act(post(update, { session: 'p', seq: 6 })))).toEqual([])
    expect(device.state.services[0]?.stateOf(0)).toBe(10)
    expect(kindsOf(device.act(post(update, { session: 'p', seq: 7 })))).toEqual(['reported'])
  })
})
