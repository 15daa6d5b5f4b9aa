import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { DeclaredService, DeviceCommand } from '#actors/device/commands'
import { type AlarmState, type DeviceState, noAlarms, serviceOf } from '#actors/device/state'
import type { StoredAlarm } from '#model/alarm'
import { type Entry, isPropertyError } from '#model/entry'
import { everything, scopeOf } from '#model/scope'
import type { Decision } from '#runtime/actor'
import { hello, post, report, shapeOf } from '#test/actors/acting-device'
import { DeviceWithAlarms, turnsOf } from '#test/actors/alarms-fixture'
import { commandOf, weighted } from '#test/kit/command-arbitrary'
import { forAll } from '#test/kit/for-all'
import { storedAlarm } from '#test/rules/stored-rules'

/** The service in two shapes. The second one has another type and one property less. */
const forms = [shapeOf('svc', { 1: 'uint8', 2: 'string' }), shapeOf('svc', { 1: 'uint16' })]
const other = shapeOf('other', { 1: 'uint8' })

/** The value of a property; undefined if it has no value or an error. */
type Value = string | number | undefined
/** Conditions, each with a function that evaluates it directly. The result is undefined if values are missing. */
const conditions = [
  {
    condition: { '>': [{ var: '0x01' }, 4] },
    holds: (one: Value) => (one === undefined ? undefined : Number(one) > 4),
  },
  {
    condition: { '>': [{ '+': [{ var: '0x01' }, { var: '0x02' }] }, 6] },
    holds: (one: Value, two: Value) => {
      const sum = one === undefined || two === undefined ? Number.NaN : Number(one) + Number(two)
      return Number.isNaN(sum) ? undefined : sum > 6
    },
  },
  {
    condition: { and: [{ '==': [{ var: ['0x02', 'none'] }, 'none'] }, { '<': [{ var: '0x01' }, 3] }] },
    holds: (one: Value, two: Value) => (one === undefined ? undefined : (two ?? 'none') === 'none' && Number(one) < 3),
  },
] as const

const ids = ['I1', 'I2', 'I3'] as const
const id = fc.constantFrom(...ids)
const value = fc.oneof(fc.nat(9), fc.constant({ error: 'broken' }))
const text = fc.constantFrom('0', '2', '5', 'x')
const item = fc.oneof(
  value.map((reported) => ({ propId: 1, reported })),
  text.map((reported) => ({ propId: 2, reported })),
)
const alarm = fc
  .record({
    which: fc.nat(2),
    service: fc.constantFrom('svc', 'svc', 'svc', 'other'),
    forSeconds: fc.nat(2),
    devices: fc.constantFrom(null, null, ['A'], ['B']),
  })
  .map(({ which, service, ...more }) => {
    const { condition, holds } = conditions[which] as (typeof conditions)[number]
    return {
      holds,
      stored: storedAlarm({ condition: condition as StoredAlarm['condition'], serviceIdentifier: service, ...more }),
    }
  })

const items = fc.array(item, { minLength: 1, maxLength: 3 })
const step = fc.oneof(
  weighted(
    8,
    commandOf('report', {
      service: fc.constantFrom('svc', 'svc', 'other'),
      items,
      session: fc.constantFrom('s', 's', 's', 't'),
    }),
  ),
  weighted(2, commandOf('post', { items })),
  commandOf('hello', { form: fc.option(fc.nat(1)), hasOther: fc.boolean() }),
  weighted(3, commandOf('set', { id, alarm: fc.option(alarm) })),
  commandOf('access', { isGiven: fc.constantFrom(true, true, false) }),
  weighted(3, commandOf('evaluate')),
  weighted(4, commandOf('wait', { ms: fc.constantFrom(1, 500, 1_000, 2_000, 2_500), isDown: fc.boolean() })),
  weighted(2, commandOf('wake', { how: fc.constantFrom('snapshot', 'replay') })),
  commandOf('remove'),
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

const isRefused = fc.constantFrom(false, false, false, false, false, true)

const connected: Step = { type: 'hello', form: 0, hasOther: true }

/** A device, and a model of its alarms. After each step, the model computes the expected states from all values. */
class AlarmModel {
  readonly device = new DeviceWithAlarms()
  readonly #published: string[]
  readonly alarms = new Map<string, typeof alarm extends fc.Arbitrary<infer A> ? A : never>()
  readonly expected = new Map<string, AlarmState>()
  hasAccess = true
  /** True if an alarm or the access of authors was edited, and the device has not been evaluated since. */
  isEdited = false
  #seq = 0
  #edit = 1
  #saved = this.device.saved()
  #since: { readonly entry: Entry; readonly offset: number }[] = []

  /** `published` receives all alarm events. */
  constructor(published: string[]) {
    this.#published = published
  }

  do(step: Step, isRefused: boolean): void {
    const { device } = this
    const { state } = device
    switch (step.type) {
      case 'set': {
        const { id, alarm } = step
        this.isEdited = true
        if (alarm) this.alarms.set(id, alarm)
        else this.alarms.delete(id)
        device.putAlarm(id, alarm ? { ...alarm.stored, edit: this.#edit++ } : undefined)
        return
      }
      case 'access':
        this.isEdited = true
        this.hasAccess = step.isGiven
        device.mayRead(step.isGiven ? everything : scopeOf([]))
        return
      case 'wait':
        this.#wait(step.ms, step.isDown)
        return
      case 'wake':
        this.#wake(step.how === 'replay')
        return
      case 'report': {
        const shape = serviceOf(state, step.service)?.shape
        if (!shape) return
        const items = step.items.flatMap(({ propId, reported }) => {
          const place = shape.indexOf.get(propId)
          return place === undefined ? [] : [place, reported]
        })
        if (items.length > 0) this.#act(report(shape, ++this.#seq, items, { session: step.session }), isRefused)
        return
      }
      case 'post': {
        const shape = serviceOf(state, 'svc')?.shape
        const updates = step.items.filter(
          ({ propId, reported }) => typeof reported !== 'object' && shape?.indexOf.has(propId),
        )
        if (updates.length > 0)
          this.#act(post(updates.map(({ propId, reported }) => ['svc', propId, reported])), isRefused)
        return
      }
      case 'hello': {
        const services: DeclaredService[] = step.form === null ? [] : [{ shape: forms[step.form] as never, items: [] }]
        if (step.hasOther) services.push({ shape: other, items: [] })
        this.#act(hello(services), isRefused)
        return
      }
      case 'evaluate':
        this.#act({ type: 'evaluate' }, isRefused)
        return
      case 'remove':
        this.#act({ type: 'remove' }, isRefused)
        if (isRefused) return
        this.#act({ type: 'add', flakeAddress: 7, meta: {} }, false)
        this.do(connected, false)
    }
  }

  check(): void {
    const { device, expected } = this
    expect(device.alarmStates).toEqual(Object.fromEntries(expected))
    if (expected.size === 0) expect(device.state.alarms).toBe(noAlarms)
    const unsettled = [...expected.values()].filter(({ isActive, waitingSince }) => isActive || waitingSince > 0)
    expect(device.state.alarms.unsettled).toBe(unsettled.length)
    const rows = [...expected].filter(([, { since }]) => since > 0).map(([id]) => `${id}/A`)
    expect([...device.rows].sort()).toEqual(rows.sort())
  }

  /** Checks that the reminder comes in time for each pending condition. */
  checkReminder(): void {
    if (this.isEdited) return
    for (const [id, { waitingSince }] of this.expected) {
      const deadline = waitingSince + (this.alarms.get(id)?.stored.forSeconds ?? 0) * 1_000
      if (waitingSince === 0 || deadline <= this.device.at) continue
      expect(this.device.reminder, `${id} waits`).not.toBeNull()
      expect(this.device.reminder).toBeLessThanOrEqual(deadline)
    }
  }

  #act(command: DeviceCommand, isRefused: boolean): void {
    // A refused command is decided, but not applied.
    if (isRefused) this.device.decide(command)
    else this.#took(this.device.act(command), command.type === 'remove')
  }

  #took(decision: Decision<Entry>, isRemoved = false): void {
    const published = turnsOf(decision)
    expect([...published].sort()).toEqual(this.#evaluated(isRemoved).sort())
    this.#published.push(...published)
    if (decision.type !== 'record') return
    const first = this.device.offset - decision.events.length + 1
    this.#since.push(...decision.events.map((entry, index) => ({ entry, offset: first + index })))
    if (decision.isCheckpointed) {
      this.#saved = this.device.saved()
      this.#since = []
    }
  }

  /** Moves the model to the new states, and returns the expected events. */
  #evaluated(isRemoved: boolean): string[] {
    const { state, at } = this.device
    const published: string[] = []
    this.isEdited = false
    for (const id of ids) {
      const before = this.expected.get(id) ?? { isActive: false, since: 0, waitingSince: 0 }
      const alarm = this.alarms.get(id)
      const isBound = this.hasAccess && !isRemoved && alarm && (alarm.stored.devices ?? ['A']).includes('A')
      if (!isBound || !serviceOf(state, alarm.stored.serviceIdentifier)) {
        if (before.isActive) published.push(`${id} ended ${at}`)
        this.expected.delete(id)
        continue
      }
      const service = alarm.stored.serviceIdentifier
      const verdict = alarm.holds(propertyValue(state, service, 1), propertyValue(state, service, 2))
      const heldAt = (before.waitingSince || at) + alarm.stored.forSeconds * 1_000
      if (verdict === true && !before.isActive && heldAt <= at) {
        published.push(`${id} active ${heldAt}`)
        this.expected.set(id, { isActive: true, since: heldAt, waitingSince: 0 })
      } else if (verdict === true && !before.isActive) {
        this.expected.set(id, { ...before, waitingSince: before.waitingSince || at })
      } else if (verdict === false && before.isActive) {
        published.push(`${id} inactive ${at}`)
        this.expected.set(id, { isActive: false, since: at, waitingSince: 0 })
      } else if (verdict === false && before.since > 0) this.expected.set(id, { ...before, waitingSince: 0 })
      else if (verdict === false) this.expected.delete(id)
    }
    return published
  }

  /** Lets time pass. Reminders come at their time, or all at the end if the server was down. */
  #wait(ms: number, isDown: boolean): void {
    const { device } = this
    const until = device.at + ms
    if (isDown) device.at = until
    while (device.reminder !== null && device.reminder <= until) {
      device.at = Math.max(device.at, device.reminder)
      this.#took(device.due())
    }
    device.at = until
  }

  #wake(isReplayed: boolean): void {
    const { state } = this.device
    Object.assign(state, this.device.restored(isReplayed ? this.#saved : this.device.saved()))
    if (!isReplayed) return
    for (const { entry, offset } of this.#since) this.device.definition.apply(state, entry, offset)
  }
}

function propertyValue(state: DeviceState, serviceIdentifier: string, propId: number): Value {
  const service = serviceOf(state, serviceIdentifier)
  const place = service?.shape.indexOf.get(propId)
  const found = place === undefined ? null : (service?.stateOf(place) ?? null)
  return found === null || isPropertyError(found) ? undefined : (found as Value)
}

test('after any sequence of commands, alarms have the states of a direct evaluation of their conditions', () => {
  const published: string[] = []
  forAll(
    [
      fc.array(alarm, { minLength: 1, maxLength: 3 }),
      fc.array(fc.tuple(step, isRefused), { minLength: 10, maxLength: 60, size: 'max' }),
    ],
    300,
    (first, steps) => {
      const model = new AlarmModel(published)
      model.do(connected, false)
      first.forEach((alarm, index) => {
        model.do({ type: 'set', id: ids[index] as 'I1', alarm }, false)
      })
      for (const [each, refused] of steps) {
        model.do(each, refused)
        model.check()
        model.checkReminder()
      }
    },
  )
  // Each kind of event must have happened.
  for (const what of [' active', ' inactive', ' ended']) {
    expect(published.filter((line) => line.includes(what)).length, `${what} of ${published.length}`).toBeGreaterThan(20)
  }
})
