import { describe, expect, test } from 'vitest'
import { now } from '#test/actors/acting-actor'
import { hello, kindsOf, report, shapeOf } from '#test/actors/acting-device'
import { DeviceWithAlarms, turnsOf } from '#test/actors/alarms-fixture'
import { storedAlarm } from '#test/rules/stored-rules'

const svc = shapeOf('svc', { 1: 'uint8', 2: 'uint8', 3: 'string' })
const other = shapeOf('other', { 5: 'float' })

const over = (propId: string, limit: number) => ({ '>': [{ var: propId }, limit] })
const high = storedAlarm({ serviceIdentifier: 'svc', condition: over('0x01', 10) })
const long = { ...high, forSeconds: 2 }

class LinkedDevice extends DeviceWithAlarms {
  seq = 0

  constructor(alarms: Readonly<Record<string, typeof high>> = {}) {
    super()
    this.act(hello([svc, other].map((shape) => ({ shape, items: [] }))))
    for (const [id, alarm] of Object.entries(alarms)) this.putAlarm(id, alarm)
  }

  reports(...items: Parameters<typeof report>[2]) {
    return this.act(report(svc, ++this.seq, items))
  }
}

describe('a report', () => {
  test('activates and clears an alarm, with an entry for each change after the entry of the report', () => {
    const device = new LinkedDevice({ I1: high })
    const first = device.reports(0, 11)
    expect(kindsOf(first)).toEqual(['reported', 'alarm_changed'])
    expect(first).toMatchObject({ indexes: [{ entry: 'I1/A', isPresent: true }] })
    expect(device.alarmStates).toEqual({ I1: { isActive: true, since: now, waitingSince: 0 } })
    expect([...device.rows]).toEqual(['I1/A'])
    device.at += 500
    expect(turnsOf(device.reports(0, 12))).toEqual([])
    const last = device.reports(0, 10)
    expect(turnsOf(last)).toEqual([`I1 inactive ${now + 500}`])
    // The index has had the row since the first activation.
    for (const decision of [last, device.reports(0, 11)]) expect(decision).toMatchObject({ indexes: [] })
    expect(device.rules.counts.transitions).toBe(3)
  })

  test.each([
    ['the value of its first property', { and: [{ '>': [{ var: '0x02' }, 1] }, { '<': [{ var: '0x01' }, 9] }] }, 5],
    ['no value if its property has none', { '!=': [{ var: ['0x03', 'none'] }, 'x'] }, undefined],
  ])('that changes the state of an alarm publishes %s', (_, condition, value) => {
    const device = new LinkedDevice({ I1: { ...high, condition } })
    const { events = [] } = device.reports(0, 3, 1, 5) as { events?: readonly object[] }
    expect(events.at(-1)).toEqual({
      ...{ kind: 'alarm_changed', device: 'A', alarm: 'I1', at: now, isActive: true, since: now },
      ...(value !== undefined && { value }),
    })
  })

  test('is published without an evaluation if no value that an alarm reads has changed', () => {
    const device = new LinkedDevice({ I1: high })
    device.reports(0, 5)
    const evaluated = device.rules.counts.evaluated
    expect(evaluated).toBeGreaterThan(0)
    device.reports(1, 9)
    device.reports(2, 'x')
    expect(kindsOf(device.reports(1, 8, 0, 5, 2, 'y'))).toEqual(['reported'])
    expect(device.rules.counts.evaluated).toBe(evaluated)
    device.reports(0, 6)
    expect(device.rules.counts.evaluated).toBe(evaluated + 1)
  })

  test('of 1 024 items evaluates each alarm once, with all items', () => {
    const wide = shapeOf('wide', Object.fromEntries(Array.from({ length: 1_024 }, (_, index) => [index + 1, 'uint8'])))
    const device = new DeviceWithAlarms()
    device.act(hello([{ shape: wide, items: [] }]))
    const many = { '+': Array.from({ length: 200 }, (_, index) => ({ var: `0x${(index * 5 + 1).toString(16)}` })) }
    for (const id of ['I1', 'I2']) {
      device.putAlarm(id, storedAlarm({ serviceIdentifier: 'wide', condition: { '>=': [many, 200] } }))
    }
    const items = (value: number) => Array.from({ length: 1_024 }, (_, index) => [index, value]).flat()
    device.act(report(wide, 1, items(0)))
    const evaluated = device.rules.counts.evaluated
    expect(turnsOf(device.act(report(wide, 2, items(1))))).toEqual([`I1 active ${now}`, `I2 active ${now}`])
    expect(device.rules.counts.evaluated).toBe(evaluated + 2)
    // The next report must not use items of this report.
    expect(turnsOf(device.act(report(wide, 3, [5, 0])))).toEqual([`I1 inactive ${now}`, `I2 inactive ${now}`])
  })

  test('is a single entry if no alarm changes', () => {
    const device = new LinkedDevice({ I1: high })
    device.reports(0, 1)
    const decision = device.act(report(svc, 2, [0, 2]))
    expect(decision).toStrictEqual({ type: 'record', events: [expect.any(Object)], answer: 2 })
    expect(decision).not.toHaveProperty('events.0.alarms')
  })
})

describe('a condition with a minimum duration', () => {
  test('needs only one reminder, even if the condition changes often during that time', () => {
    const device = new LinkedDevice({ I1: long, I2: { ...long, forSeconds: 3 } })
    const reminders: unknown[] = []
    for (let times = 0; times < 5; times++) {
      for (const value of [11, 1]) {
        const decision = device.reports(0, value)
        if (decision.type === 'record' && decision.reminder !== undefined) reminders.push(decision.reminder)
        device.at += 100
      }
    }
    expect(reminders).toEqual([now + 2_000])
    expect(device.alarmStates).toEqual({})
    device.reports(0, 11)
    device.at = now + 2_000
    expect(turnsOf(device.due())).toEqual([])
    // This reminder is for the condition that began at now + 1 000.
    expect(device.reminder).toBe(now + 3_000)
  })

  test('is evaluated a second later if the alarms were not loaded yet', () => {
    const device = new LinkedDevice({ I1: long })
    device.reports(0, 11)
    Object.defineProperty(device.rules, 'isLoaded', { value: false, configurable: true })
    device.at += 5_000
    expect(device.due()).toMatchObject({ events: [], reminder: now + 6_000 })
    Reflect.deleteProperty(device.rules, 'isLoaded')
    expect(turnsOf(device.due())).toEqual([`I1 active ${now + 2_000}`])
  })
})

test('the end of an alarm is published before the removal of its device', () => {
  const device = new LinkedDevice({ I1: high, I2: long })
  device.reports(0, 11)
  const decision = device.act({ type: 'remove' })
  expect(kindsOf(decision)).toEqual(['alarm_changed', 'undeclared', 'undeclared', 'device_removed'])
  expect(decision).toMatchObject({ reminder: null })
  expect(device.due()).toMatchObject({ type: 'answer' })
})

describe('an acknowledgement', () => {
  const acknowledge = (by: string, comment?: string, alarm = 'I1') =>
    ({ type: 'acknowledge_alarm', alarm, by, comment }) as const
  const acknowledgementOf = (device: LinkedDevice) => device.alarmStates.I1?.acknowledged

  test('holds until the alarm becomes active again, and is stored with the device', () => {
    const device = new LinkedDevice({ I1: high })
    device.reports(0, 11)
    const by = { by: 'crn#user:U1', at: now + 5, comment: 'seen' }
    device.at += 5
    expect(device.act(acknowledge('crn#user:U1', 'seen'))).toMatchObject({
      events: [{ kind: 'alarm_acknowledged', device: 'A', alarm: 'I1', at: now + 5, since: now, comment: 'seen' }],
      answer: { isActive: true, since: now, acknowledged: by },
    })
    device.reports(0, 1)
    expect([acknowledgementOf(device), device.restored().alarms.get('I1')?.acknowledged]).toEqual([by, by])
    device.putAlarm('I1', long)
    device.reports(0, 11)
    expect(acknowledgementOf(device)).toEqual(by)
    device.at += 2_000
    device.due()
    expect([device.alarmStates.I1?.isActive, acknowledgementOf(device)]).toEqual([true, undefined])
  })

  test('is replaced by an acknowledgement with another user or comment, and not changed by the same one', () => {
    const device = new LinkedDevice({ I1: high })
    device.reports(0, 11)
    for (const next of [acknowledge('U1'), acknowledge('U2'), acknowledge('U2', 'mine')]) {
      expect(kindsOf(device.act(next))).toEqual(['alarm_acknowledged'])
      expect(device.act(next)).toMatchObject({ type: 'answer', value: { acknowledged: { by: next.by } } })
    }
    expect(acknowledgementOf(device)).toMatchObject({ by: 'U2', comment: 'mine' })
  })

  test.each([
    ['that was never active', 'I1'],
    ['whose condition has not held for long enough', 'I2'],
    ['that does not exist', 'I3'],
  ])('of an alarm %s is refused', (_, alarm) => {
    const device = new LinkedDevice({ I1: { ...high, condition: over('0x02', 10) }, I2: long })
    device.reports(0, 11)
    expect(device.act(acknowledge('U1', undefined, alarm))).toMatchObject({
      type: 'refuse',
      problem: { code: 'not_found' },
    })
  })
})
