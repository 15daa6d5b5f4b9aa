import { describe, expect, test } from 'vitest'
import { everything, scopeOf } from '#model/scope'
import { hello, kindsOf, post, report, shapeOf } from '#test/actors/acting'
import { now } from '#test/actors/acting-actor'
import { AlarmedDevice, turnsOf } from '#test/actors/alarmed'
import { storedAlarm } from '#test/rules/stored-rules'

const svc = shapeOf('svc', { 1: 'uint8', 2: 'uint8', 3: 'string' })
const other = shapeOf('other', { 5: 'float' })

const over = (propId: string, limit: number) => ({ '>': [{ var: propId }, limit] })
const high = storedAlarm({ serviceIdentifier: 'svc', condition: over('0x01', 10) })
const long = { ...high, forSeconds: 2 }

/** Linked, with alarms, and reporting `value` by the given number. */
class Linked extends AlarmedDevice {
  seq = 0

  constructor(alarms: Readonly<Record<string, typeof high>> = {}) {
    super()
    this.act(hello([svc, other].map((shape) => ({ shape, items: [] }))))
    for (const [id, alarm] of Object.entries(alarms)) this.set(id, alarm)
  }

  says(...items: Parameters<typeof report>[2]) {
    return this.act(report(svc, ++this.seq, items))
  }
}

describe('a report', () => {
  test('turns an alarm on and off, each an entry of its own behind it', () => {
    const device = new Linked({ I1: high })
    expect(kindsOf(device.says(0, 11))).toEqual(['reported', 'alarm_changed'])
    expect(device.standing).toEqual({ I1: { isActive: true, since: now, waitingSince: 0 } })
    expect([...device.rows]).toEqual(['I1/A'])
    device.at += 500
    expect(turnsOf(device.says(0, 12))).toEqual([])
    expect(turnsOf(device.says(0, 10))).toEqual([`I1 inactive ${now + 500}`])
    expect([...device.rows]).toEqual(['I1/A'])
    expect(device.rules.counts.transitions).toBe(2)
  })

  test('counts towards how long a condition has to hold from when the alarm has it', () => {
    const device = new Linked({ I1: long })
    device.says(0, 11, 1, 11)
    device.at += 1_500
    device.set('I1', { ...long, condition: over('0x02', 10), conditionAt: device.at, edit: 2 })
    device.act({ type: 'judge' })
    expect(device.standing).toEqual({ I1: { isActive: false, since: 0, waitingSince: now + 1_500 } })
    device.at += 1_999
    expect(turnsOf(device.act({ type: 'judge' }))).toEqual([])
    device.at += 1
    expect(turnsOf(device.act({ type: 'judge' }))).toEqual([`I1 active ${now + 3_500}`])
  })

  test('puts the row of the index once', () => {
    const device = new Linked({ I1: high })
    expect(device.says(0, 11)).toMatchObject({ indexes: [{ entry: 'I1/A', isPresent: true }] })
    for (const value of [1, 11, 1]) expect(device.says(0, value)).toMatchObject({ indexes: [] })
  })

  test('that says the same again is told and not judged, and so is what no alarm reads', () => {
    const device = new Linked({ I1: high })
    device.says(0, 5)
    const judged = device.rules.counts.judged
    expect(judged).toBeGreaterThan(0)
    for (const items of [
      [0, 5],
      [1, 9],
      [2, 'x'],
      [1, 8, 0, 5, 2, 'y'],
    ]) {
      expect(kindsOf(device.says(...items))).toEqual(['reported'])
    }
    expect(device.rules.counts.judged).toBe(judged)
    device.says(0, 6)
    expect(device.rules.counts.judged).toBe(judged + 1)
  })

  test('of two items of one property counts the last', () => {
    const device = new Linked({ I1: high })
    expect(turnsOf(device.says(0, 1, 0, 20))).toEqual([`I1 active ${now}`])
    expect(turnsOf(device.says(0, 1, 1, 3, 0, 21))).toEqual([])
    expect(turnsOf(device.says(0, 30, 0, 2))).toEqual([`I1 inactive ${now}`])
  })

  test('of 1 024 items judges each alarm once, by all of them', () => {
    const wide = shapeOf('wide', Object.fromEntries(Array.from({ length: 1_024 }, (_, index) => [index + 1, 'uint8'])))
    const device = new AlarmedDevice()
    device.act(hello([{ shape: wide, items: [] }]))
    const many = { '+': Array.from({ length: 200 }, (_, index) => ({ var: `0x${(index * 5 + 1).toString(16)}` })) }
    for (const id of ['I1', 'I2']) {
      device.set(id, storedAlarm({ serviceIdentifier: 'wide', condition: { '>=': [many, 200] } }))
    }
    const items = (value: number) => Array.from({ length: 1_024 }, (_, index) => [index, value]).flat()
    device.act(report(wide, 1, items(0)))
    const judged = device.rules.counts.judged
    expect(turnsOf(device.act(report(wide, 2, items(1))))).toEqual([`I1 active ${now}`, `I2 active ${now}`])
    expect(device.rules.counts.judged).toBe(judged + 2)
    // Nothing of one report is left for the next.
    expect(turnsOf(device.act(report(wide, 3, [5, 0])))).toEqual([`I1 inactive ${now}`, `I2 inactive ${now}`])
  })

  test('without a value of what is read, in error, or where the condition fails leaves things as they are', () => {
    const sum = { '>': [{ '+': [{ var: '0x01' }, { var: '0x03' }] }, 10] }
    const device = new Linked({ I1: { ...high, condition: sum } })
    expect(turnsOf(device.says(0, 200))).toEqual([])
    expect(turnsOf(device.says(2, '1'))).toEqual([`I1 active ${now}`])
    expect(turnsOf(device.says(0, { error: 'broken' }))).toEqual([])
    expect(turnsOf(device.says(0, 0, 2, 'x'))).toEqual([])
    expect(device.rules.counts.errors).toBe(1)
    expect(turnsOf(device.says(2, '9'))).toEqual([`I1 inactive ${now}`])
  })

  test('may begin a session and a wait', () => {
    const device = new Linked({ I1: long })
    const decision = device.act(report(svc, 1, [0, 11], { session: 'next' }))
    expect(decision).toMatchObject({
      events: [{ kind: 'reported', session: 'next', alarms: ['I1', now] }],
      reminder: now + 2_000,
    })
    expect(decision).not.toHaveProperty('isCheckpointed')
  })

  test('is one plain entry where nothing comes of it', () => {
    const device = new Linked({ I1: high })
    device.says(0, 1)
    const decision = device.act(report(svc, 2, [0, 2]))
    expect(decision).toStrictEqual({ type: 'record', events: [expect.any(Object)], answer: 2 })
    expect(decision).not.toHaveProperty('events.0.alarms')
  })

  test('is judged again when what came of it was refused', () => {
    const device = new Linked({ I1: high, I2: long })
    device.says(1, 1)
    for (let times = 0; times < 3; times++) {
      expect(device.decide(report(svc, 2, [0, 11]))).toMatchObject({ reminder: now + 2_000 })
    }
    expect(turnsOf(device.act(report(svc, 2, [0, 11])))).toEqual([`I1 active ${now}`])
  })

  test('that was refused is not forgotten by a later one of something else', () => {
    const device = new Linked()
    device.says(0, 11)
    device.set('I1', high)
    expect(turnsOf(device.decide(report(svc, 2, [1, 1])))).toEqual([`I1 active ${now}`])
    expect(turnsOf(device.act(report(other, 2, [0, 1])))).toEqual([`I1 active ${now}`])
  })
})

describe('a condition that has to hold', () => {
  test('for a while makes the alarm active when it did, and reminds', () => {
    const device = new Linked({ I1: long })
    device.says(0, 11)
    expect(device.reminder).toBe(now + 2_000)
    device.at += 1_999
    expect(turnsOf(device.says(0, 12))).toEqual([])
    device.at += 1
    expect(turnsOf(device.due())).toEqual([`I1 active ${now + 2_000}`])
    expect(device.reminder).toBeNull()
    expect([...device.rows]).toEqual(['I1/A'])
  })

  test('also when the server was down at that moment', () => {
    const device = new Linked({ I1: long })
    device.says(0, 11)
    device.at += 3_600_000
    expect(device.due()).toMatchObject({ events: [{ at: device.at, since: now + 2_000, isActive: true }] })
  })

  test('costs one reminder for all that flap meanwhile', () => {
    const device = new Linked({ I1: long, I2: { ...long, forSeconds: 3 } })
    const reminders: unknown[] = []
    for (let times = 0; times < 5; times++) {
      for (const value of [11, 1]) {
        const decision = device.says(0, value)
        if (decision.type === 'record' && decision.reminder !== undefined) reminders.push(decision.reminder)
        device.at += 100
      }
    }
    expect(reminders).toEqual([now + 2_000])
    expect(device.standing).toEqual({})
    device.says(0, 11)
    device.at = now + 2_000
    expect(turnsOf(device.due())).toEqual([])
    // What began at now + 1 000.
    expect(device.reminder).toBe(now + 3_000)
  })

  test('is not taken for held where it cannot be said any more', () => {
    const device = new Linked({ I1: long })
    device.says(0, 11)
    device.says(0, { error: 'broken' })
    device.at += 2_000
    expect(device.due()).toMatchObject({ type: 'answer' })
    expect(device.reminder).toBeNull()
    device.at += 2_000
    expect(turnsOf(device.says(0, 12))).toEqual([`I1 active ${now + 2_000}`])
  })

  test('is asked again a second later where alarms were not read yet', () => {
    const device = new Linked({ I1: long })
    device.says(0, 11)
    Object.defineProperty(device.rules, 'isLoaded', { value: false, configurable: true })
    device.at += 5_000
    expect(device.due()).toMatchObject({ events: [], reminder: now + 6_000 })
    Reflect.deleteProperty(device.rules, 'isLoaded')
    expect(turnsOf(device.due())).toEqual([`I1 active ${now + 2_000}`])
  })

  test('is remembered over a death, by the report or by the snapshot', () => {
    const device = new Linked({ I1: long })
    device.says(0, 11)
    expect(Object.fromEntries(device.restored().alarms)).toEqual({
      I1: { isActive: false, since: 0, waitingSince: now },
    })
    device.act(post([['svc', 1, 1]]))
    expect(device.act(post([['svc', 1, 11]]))).toMatchObject({
      isCheckpointed: true,
      changes: [expect.anything(), { type: 'alarms_judged', waiting: ['I1', now] }],
    })
  })
})

describe('an alarm ends', () => {
  const active = () => {
    const device = new Linked({ I1: high, I2: long })
    device.says(0, 11)
    return device
  }
  const ends: readonly (readonly [string, (device: AlarmedDevice) => void])[] = [
    ['deleted', (device) => device.set('I1', undefined)],
    ['bound elsewhere', (device) => device.set('I1', { ...high, devices: ['B'], edit: 2 })],
    ['about a service that is not there', (device) => device.set('I1', { ...high, serviceIdentifier: 'no', edit: 2 })],
    ['of an author without access', (device) => device.mayRead(scopeOf([]))],
  ]

  test.each(ends)('that is %s', (_, end) => {
    const device = active()
    end(device)
    device.at += 9
    expect(turnsOf(device.act({ type: 'judge' }))).toEqual([`I1 ended ${now + 9}`])
    expect(device.standing).not.toHaveProperty('I1')
    expect([...device.rows]).toEqual([])
    expect(device.act({ type: 'judge' })).toMatchObject({ type: 'answer' })
  })

  test.each(ends)('also where it is not active any more, and then silently: %s', (_, end) => {
    const device = active()
    device.says(0, 1)
    end(device)
    expect(device.act({ type: 'judge' })).toMatchObject({ events: [], isCheckpointed: true })
    expect(device.standing).toEqual({})
    expect([...device.rows]).toEqual([])
  })

  test('with the last alarm of the tenant, by any report', () => {
    const device = active()
    device.set('I1', undefined)
    device.set('I2', undefined)
    const decision = device.says(1, 1)
    expect(turnsOf(decision)).toEqual([`I1 ended ${now}`])
    expect(decision).toMatchObject({ events: [{ alarms: ['I2', 0] }, { isEnded: true }] })
    expect(device.standing).toEqual({})
    expect(device.restored().alarms.size).toBe(0)
  })

  test('with its service', () => {
    const device = active()
    const decision = device.act(hello([{ shape: other, items: [] }]))
    expect(kindsOf(decision)).toEqual(['undeclared', 'discovered', 'alarm_changed'])
    expect(turnsOf(decision)).toEqual([`I1 ended ${now}`])
    expect(device.standing).toEqual({})
  })

  test('with its device, before that is said to be gone', () => {
    const device = active()
    const decision = device.act({ type: 'remove' })
    expect(kindsOf(decision)).toEqual(['alarm_changed', 'undeclared', 'undeclared', 'device_removed'])
    expect(decision).toMatchObject({ reminder: null })
    expect(device.standing).toEqual({})
    expect([...device.rows]).toEqual([])
    expect(device.due()).toMatchObject({ type: 'answer' })
  })

  test('silently with its device, where it is not active', () => {
    const device = active()
    device.says(0, 1)
    expect(kindsOf(device.act({ type: 'remove' }))).toEqual(['undeclared', 'undeclared', 'device_removed'])
    expect([...device.rows]).toEqual([])
    expect(device.state.isThere).toBe(false)
  })
})

describe('judged once', () => {
  test('a POST, by what stands at its end', () => {
    const device = new Linked({ I1: high })
    expect(
      turnsOf(
        device.act(
          post([
            ['svc', 1, 50],
            ['svc', 2, 1],
            ['svc', 1, 3],
          ]),
        ),
      ),
    ).toEqual([])
    expect(
      kindsOf(
        device.act(
          post([
            ['svc', 1, 3],
            ['svc', 1, 50, 5],
            ['svc', 1, 51, 6],
          ]),
        ),
      ),
    ).toEqual(['reported', 'reported', 'reported', 'alarm_changed'])
  })

  test('a HELLO, by the values that come along', () => {
    const device = new Linked({ I1: high })
    expect(turnsOf(device.act(hello([{ shape: svc, items: [0, 11] }])))).toEqual([`I1 active ${now}`])
  })

  test('a property that is of another type now has no value, and the alarm stands', () => {
    const device = new Linked({ I1: high })
    device.says(0, 11)
    expect(turnsOf(device.act(hello([{ shape: shapeOf('svc', { 1: 'float' }), items: [] }])))).toEqual([])
    expect(device.standing).toHaveProperty('I1.isActive', true)
  })

  test('an edit, by the sweep or by the next report of whatever', () => {
    for (const isSwept of [false, true]) {
      const device = new Linked({ I1: high })
      device.says(0, 50)
      device.set('I1', { ...high, condition: over('0x01', 100), edit: 2 })
      const decision = isSwept ? device.act({ type: 'judge' }) : device.act(report(other, 2, [0, 0.5]))
      expect(turnsOf(decision)).toEqual([`I1 inactive ${now}`])
      expect(turnsOf(device.act({ type: 'judge' }))).toEqual([])
    }
  })

  test('an edit that is taken back: the list is the same again, and what came of it meanwhile ends', () => {
    for (const judged of [(device: Linked) => device.act({ type: 'judge' }), (device: Linked) => device.says(1, 1)]) {
      const device = new Linked({ I1: long })
      device.says(0, 50)
      device.set('I2', high)
      expect(turnsOf(judged(device))).toEqual([`I2 active ${now}`])
      device.set('I2', undefined)
      expect(turnsOf(device.says(1, 2))).toEqual([`I2 ended ${now}`])
    }
  })

  test('access that is taken and given back: by what was said meanwhile', () => {
    const device = new Linked({ I1: high })
    device.says(1, 1)
    device.mayRead(scopeOf([]))
    device.act(post([['svc', 1, 50]]))
    device.mayRead(everything)
    expect(turnsOf(device.says(1, 2))).toEqual([`I1 active ${now}`])
  })

  test('an edit to less time reminds sooner', () => {
    const device = new Linked({ I1: { ...long, forSeconds: 60 } })
    device.says(0, 11)
    device.set('I1', { ...long, edit: 2 })
    expect(device.act({ type: 'judge' })).toMatchObject({ events: [], reminder: now + 2_000 })
    expect(device.act({ type: 'judge' })).toMatchObject({ type: 'answer' })
  })

  test('a device that is not there is judged by nothing', () => {
    const device = new AlarmedDevice()
    device.act({ type: 'remove' })
    device.set('I1', high)
    expect(device.act({ type: 'judge' })).toMatchObject({ type: 'answer' })
  })
})
