import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { DeviceCommand } from '#actors/device/commands'
import { deviceActor, deviceAddress } from '#actors/device/device'
import { absentDevice } from '#actors/device/state'
import { noticeBus } from '#actors/notice-bus'
import { type TenantCommand, tenantAddress } from '#actors/tenant/commands'
import type { TenantState } from '#actors/tenant/state'
import { tenantActor } from '#actors/tenant/tenant'
import type { Entry } from '#model/entry'
import type { StoredFunction } from '#model/function'
import type { GraphNode } from '#model/graph'
import { propertyTypeOf } from '#model/property-type'
import { everything as everyScope } from '#model/scope'
import type { Shape } from '#model/shape'
import { RuleViews } from '#rules/tenant-rules'
import type { AnyDefinition } from '#runtime/activation'
import { type ActorDefinition, record } from '#runtime/actor'
import type { StoreJournal } from '#store/store-journal'
import { shownState } from '#test/actors/acting-device'
import { chain, functionViews, onProperty, storedFunction, throttle } from '#test/actors/functions-fixture'
import { noopUpdates } from '#test/actors/update/acting-update'
import { forAllAsync } from '#test/kit/for-all'
import { storedAlarm } from '#test/rules/stored-rules'
import { atOnce } from '#test/rules/synchronous-slices'
import { startMs } from '#test/runtime/manual-world'
import { openRuntime, type RuntimeFixture, type RuntimeFixtureOptions } from '#test/runtime/runtime-fixture'
import { subscription } from '#test/store/sample-records/subscription'

const names = ['A', 'B', 'C']

const log = { info: () => {} }
const rules = new RuleViews({ scopeOf: () => everyScope, sweep: () => {}, runInSlices: atOnce, log })
/** Alarms on all devices: one at once, and two with a duration. */
const alarms = new Map(
  [
    storedAlarm({ serviceIdentifier: 'one', condition: { '>': [{ var: '0x01' }, 4] } }),
    storedAlarm({ serviceIdentifier: 'one', condition: { '<': [{ var: '0x01' }, 7] }, forSeconds: 1 }),
    storedAlarm({ serviceIdentifier: 'two', condition: { '>': [{ var: '0x01' }, 1] }, forSeconds: 60 }),
  ].map((alarm, index) => [`I${index}`, alarm]),
)
rules.load([{ tenant: 'default', alarms, groups: new Map(), schemas: new Map() }])

/** Throttles on all devices, which pass some reports, alarms and status changes. No mail is sent. */
const functions = functionViews()
const triggers = [onProperty(1, undefined, 'one'), { id: 'turned', type: 'trigger', on: 'alarm', alarmId: 'I0' }]
const throttled = [...triggers, { id: 'came', type: 'trigger', on: 'status' }].map((trigger, index) => [
  `F${index}`,
  storedFunction(chain(trigger as GraphNode, throttle(index + 1))),
]) as [string, StoredFunction][]
const none = new Map<string, never>()
functions.load([{ tenant: 'default', functions: new Map(throttled), templates: none, groups: none }])

const definitions = (journal: StoreJournal) => {
  const device = deviceActor({ shapeById: (id) => journal.shapes.byId(id), startedAt: startMs, rules, functions })
  return [device, tenantActor(noticeBus()), noopUpdates] as unknown as AnyDefinition<Entry>[]
}

/** Few events, so that checkpoints are frequent. */
const options: RuntimeFixtureOptions = {
  definitions,
  redo: { eventsMax: 24, bytesMax: 1_000_000 },
  bulkActivation: { entriesMin: 1, actorsMin: 1, rowsAhead: 1, rowsPerActor: 1 },
}

/** Two services: the first in three forms, with more properties or another type, the second in two. */
function shapesOf(fixture: RuntimeFixture): Shape[] {
  const { intern } = fixture.journal.shapes
  const property = (propId: number, name: string, modifier = 0) => {
    const type = propertyTypeOf(name)
    if (!type) throw new Error(`${name} is not a type`)
    return { propId, type, modifier }
  }
  return [
    intern('one', [property(1, 'uint8'), property(2, 'string')]),
    intern('one', [property(1, 'uint8'), property(2, 'string'), property(3, 'bool')]),
    intern('one', [property(1, 'string'), property(3, 'bool', 1)]),
    intern('two', [property(1, 'float')]),
    intern('two', [property(9, 'float'), property(10, 'float')]),
  ]
}

/** A value of a property of these shapes, from a small number. */
function valueFor(shape: Shape, index: number, number: number) {
  const values = { uint8: number, string: `s${number}`, bool: number % 2 === 0, float: number / 2 }
  return values[shape.properties[index]?.type.name as keyof typeof values]
}

const device = fc.constantFrom(...names)
const number = fc.nat(9)
const weights = {
  ...{ admit: 2, report: 12, post: 2, meta: 2, 'delete meta': 1, status: 2, remove: 1, schema: 1, group: 1, alarm: 1 },
} as const
type Step =
  | { readonly what: keyof typeof weights; readonly device: string; readonly number: number }
  | { readonly what: 'hello'; readonly device: string; readonly number: number; readonly shapes: readonly number[] }
const shapePlaces = fc.subarray([0, 1, 2, 3, 4])
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ what: fc.constant('hello' as const), device, number, shapes: shapePlaces }) },
  ...Object.entries(weights).map(([what, weight]) => {
    return { weight, arbitrary: fc.record({ what: fc.constant(what as keyof typeof weights), device, number }) }
  }),
)

/** Turns in one commit. */
const batch = fc.array(step, { minLength: 1, maxLength: 10, size: 'max' })
/** The run of a process: commits, then one that may be in flight and one that is open at the crash. */
const life = fc.record({
  batches: fc.array(batch, { minLength: 1, maxLength: 10, size: 'max' }),
  inFlight: batch,
  open: batch,
  isKept: fc.boolean(),
})

function run(fixture: RuntimeFixture, steps: readonly Step[]): void {
  const shapes = shapesOf(fixture)
  for (const each of steps) {
    const address = deviceAddress('default', each.device)
    const { number } = each
    const state = () => fixture.system.peek(address) ?? absentDevice(each.device)
    const ask = (command: DeviceCommand) => fixture.ask(address, command)
    const askTenant = (command: TenantCommand) => fixture.ask(tenantAddress('default'), command)
    switch (each.what) {
      case 'admit':
        if (!state().exists) askTenant({ type: 'admit_device', device: each.device, meta: { number } })
        break
      case 'hello': {
        const drawn = each.shapes.map((place) => shapes[place] as Shape)
        const byService = new Map(drawn.toReversed().map((shape) => [shape.serviceIdentifier, shape]))
        const services = [...byService.values()].map((shape) => {
          return { shape, items: number % 3 === 0 ? [0, valueFor(shape, 0, number) ?? null] : [] }
        })
        const firmwares = number > 7 ? [{ firmware: '1.0.0', index: number }] : undefined
        const more = { project: number > 5 ? 'p' : undefined, firmwares, isAutoUpdated: number > 1 }
        ask({ type: 'hello', session: `s${number % 3}`, services, ...more, isConnect: number !== 5 })
        break
      }
      case 'report': {
        const { shape } = state().services[number % 2] ?? {}
        if (!shape) break
        const index = number % shape.properties.length
        const items = [index, number === 4 ? { error: 'e' } : (valueFor(shape, index, number) ?? null)]
        // Each step takes a millisecond.
        const seq = fixture.world.now() - startMs + 1
        const timestamp = number > 6 ? 0 : undefined
        ask({ type: 'report', shape, session: `s${number % 3}`, seq, items, timestamp })
        break
      }
      case 'post': {
        const updates = state()
          .services.slice(0, 2)
          .map(({ shape }) => ({
            ...{ serviceIdentifier: shape.serviceIdentifier, propId: shape.properties[0]?.propId ?? 0 },
            ...{ value: valueFor(shape, 0, number), timestamp: undefined },
          }))
        const seq = number % 2 === 0 ? number + 1 : undefined
        ask({ type: 'post', session: number > 5 ? `p${number}` : undefined, seq, services: undefined, updates })
        break
      }
      case 'meta':
        ask({ type: 'patch_meta', patch: { [`k${number % 4}`]: number, gone: number % 2 ? null : 1 } })
        break
      case 'delete meta':
        ask({ type: 'delete_meta_key', key: `k${number % 4}` })
        break
      case 'status':
        ask({ type: 'status', status: (['online', 'idle', 'offline'] as const)[number % 3] ?? 'offline' })
        break
      case 'remove':
        ask({ type: 'remove' })
        break
      case 'schema': {
        const service = `svc${number % 3}`
        const schema = { name: `n${number}`, properties: {} }
        askTenant(number > 6 ? { type: 'delete_schema', service } : { type: 'put_schema', service, schema })
        break
      }
      case 'group':
      case 'alarm':
        askTenant(ruleCommand(fixture, each.what, number, each.device))
    }
    fixture.world.spend(1)
  }
}

const admit = (device: string): Step => ({ what: 'admit', device, number: 1 })

/** A command that creates, changes or removes a group or an alarm. */
function ruleCommand(fixture: RuntimeFixture, what: 'group' | 'alarm', number: number, device: string): TenantCommand {
  const tenant = fixture.system.peek(tenantAddress('default')) as TenantState
  const id = `I${number % 2}`
  const author = 'crn#user:2Vb7qYx9Kd'
  const isNew = !(what === 'group' ? tenant.groups : tenant.alarms).has(id)
  const bound = { name: `n${number}`, devices: [device] }
  if (number > 7) return { type: `delete_${what}`, id }
  if (what === 'group') return { type: 'put_group', id, isNew, body: bound, author }
  const condition = { var: '0x01' }
  const groups = number > 4 ? ['I0'] : []
  const body = { ...bound, severity: 'info' as const, serviceIdentifier: 'one', condition, groups }
  return { type: 'put_alarm', id, isNew, body, author }
}

/** The whole state, except what a crash may lose: when and how often a device connected. */
function everything(fixture: RuntimeFixture): unknown {
  const devices = names.map((name) => {
    const state = fixture.system.peek(deviceAddress('default', name)) ?? absentDevice(name)
    return { ...state, lastMessage: 0, lastConnect: 0, numConnects: 0 }
  })
  return structuredClone({ devices: devices.map(shownState), tenant: fixture.system.peek(tenantAddress('default')) })
}

test('a restart after a crash restores exactly the committed state', async () => {
  await forAllAsync([fc.array(life, { minLength: 1, maxLength: 4, size: 'max' })], 40, async (lives) => {
    let fixture = await openRuntime(options)
    run(fixture, names.map(admit))
    for (const { batches, inFlight, open, isKept } of lives) {
      for (const steps of batches) {
        run(fixture, steps)
        await fixture.settle()
      }
      expect(fixture.bugs).toEqual([])
      let expected = everything(fixture)
      run(fixture, inFlight)
      const sealed = everything(fixture)
      const commits = fixture.commits.length
      // Sealed and handed to the disk.
      while (fixture.commits.length === commits && fixture.world.step());
      const isInFlight = fixture.commits.length > commits
      run(fixture, open)
      if (isInFlight && isKept) expected = sealed
      fixture.crash(isKept ? 1 : 0)
      fixture = await fixture.restart(options)
      expect(everything(fixture)).toEqual(expected)
      expect(fixture.bugs).toEqual([])
    }
  })
})

test('a new process publishes nothing and writes nothing by itself', async () => {
  const fixture = await openRuntime(options)
  run(fixture, [admit('A')])
  await fixture.settle()
  fixture.crash()
  const again = await fixture.restart(options)
  await again.world.advance(30_000)
  expect(again.outputs).toEqual([])
  expect(again.commits).toEqual([])
})

test('a removed device stays removed, even if its entries are in the redo window', async () => {
  const fixture = await openRuntime({ definitions })
  const hello: Step = { what: 'hello', device: 'A', number: 1, shapes: [0] }
  run(fixture, [...names.map(admit), hello, { what: 'meta', device: 'A', number: 1 }])
  await fixture.settle()
  for (const what of ['hello', 'report', 'report', 'remove'] as const) {
    run(fixture, [{ what, device: 'B', number: 0, shapes: [0, 3] } as Step])
    await fixture.settle()
  }
  expect(fixture.commits.at(-1)?.streams[0]?.redoFrom).toBeLessThan(fixture.journal.stream('default').last - 3)
  const before = everything(fixture)
  fixture.crash()
  const again = await fixture.restart({ definitions })
  expect(everything(again)).toEqual(before)
  expect(again.system.peek(deviceAddress('default', 'B'))).toBeUndefined()
})

/** An actor that writes entries of updates and subscriptions, which change no device. */
const foreignActor: ActorDefinition<object, { readonly type: 'write' }, Entry> = {
  kind: 'foreign',
  persistence: 'write_through',
  formats: {},
  wake: () => ({}),
  apply: () => {},
  decide: (_, __, { now }) =>
    record([
      { kind: 'update_changed', device: 'A', at: now, index: 0, status: 'downloading', progress: 5 },
      { kind: 'subscribed', at: now, user: subscription.createdBy, stored: subscription },
      { kind: 'subscription_updated', at: now, user: subscription.createdBy, stored: subscription },
      { kind: 'unsubscribed', at: now, user: subscription.createdBy, subscription: subscription.id },
    ]),
}

test.each([1, 1_000_000])(
  'a replay applies entries of updates and subscriptions to no device (bulk wake from %s entries)',
  async (min) => {
    const withUpdates = {
      ...options,
      redo: { eventsMax: 1_000, bytesMax: 1_000_000 },
      bulkActivation: { entriesMin: min, actorsMin: min, rowsAhead: 9, rowsPerActor: 9 },
      definitions: (journal: StoreJournal) => [
        ...definitions(journal),
        foreignActor as unknown as AnyDefinition<Entry>,
      ],
    }
    const fixture = await openRuntime(withUpdates)
    run(fixture, [admit('A')])
    for (const number of [0, 1, 2]) {
      const hello: Step = { what: 'hello', device: 'A', number, shapes: [0] }
      run(fixture, [hello, { what: 'report', device: 'A', number }])
      fixture.ask({ kind: 'foreign', tenant: 'default', id: 'A' }, { type: 'write' })
      await fixture.settle()
    }
    const { last } = fixture.journal.stream('default')
    const before = everything(fixture)
    fixture.crash()
    const again = await fixture.restart(withUpdates)
    expect(again.bugs).toEqual([])
    expect(again.journal.stream('default').last).toBe(last)
    expect(everything(again)).toEqual(before)
  },
)
