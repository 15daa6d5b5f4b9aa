import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { DeviceCommand } from '#actors/device/commands'
import { deviceActor } from '#actors/device/device'
import { countedBytesStep, type MemoryLimits } from '#actors/device/memory'
import { ServiceState } from '#actors/device/service-state'
import { noDeviceFunctions } from '#actors/device/turn-runs'
import { memoryOf } from '#actors/device/value-memory'
import { noticeBus } from '#actors/notice-bus'
import type { TenantCommand } from '#actors/tenant/commands'
import type { TenantState } from '#actors/tenant/state'
import { tenantActor } from '#actors/tenant/tenant'
import type { PropertyState } from '#model/entry'
import { ActingActor, outcomeOf, startedAt } from '#test/actors/acting-actor'
import { ActingDevice, hello, noRuleViews, post, report, shapeOf, shapes } from '#test/actors/acting-device'
import { forAll } from '#test/kit/for-all'

const deviceBytesMax = 100_000
const tenantBytesMax = 200_000

const one = shapeOf('svc', { 1: 'uint8', 2: 'string', 3: 'string', 4: 'uint8-array' })
const two = shapeOf('two', { 5: 'string' })
const declared = [one, two].map((shape) => ({ shape, items: [] }))
const three = shapeOf('three', { 6: 'string' })
const many = shapeOf('many', Object.fromEntries(Array(400).fill('bool').entries()))
const text = (characters: number) => 'x'.repeat(characters)

/** A tenant with these limits, and its devices. */
class Fleet {
  readonly tenant = new ActingActor<TenantState, TenantCommand>(tenantActor(noticeBus()), { id: 'default' })
  readonly limits: MemoryLimits = { deviceBytesMax, tenantBytesMax, of: () => this.tenant.state.memory }
  readonly #actor = deviceActor({
    shapeById: (id) => shapes.byId(id),
    startedAt,
    rules: noRuleViews,
    functions: noDeviceFunctions,
    memory: this.limits,
  })

  added(name = 'A', actor = this.#actor): ActingDevice {
    const device = ActingDevice.added(name, actor)
    this.act(device, hello(declared))
    return device
  }

  /** Runs the command, and sends the reports of the device to its tenant. */
  act(device: ActingDevice, command: DeviceCommand): unknown {
    const decision = device.act(command)
    for (const { to, command: sent } of decision.type === 'record' ? (decision.tells ?? []) : []) {
      if (to.kind === 'tenant') this.tenant.act(sent as TenantCommand)
    }
    return outcomeOf(decision)
  }

  get counted() {
    return Object.fromEntries(this.tenant.state.memory.byDevice)
  }
}

const full = /^memory_full: A would take \d+ bytes of memory, more than DEVICE_BYTES_MAX, 100000$/

describe('a device that is full', () => {
  const halves = Object.entries({ svc: 3, two: 5 }).map(([service, id]) => [service, id, text(30_000)] as const)

  function filled(): { fleet: Fleet; device: ActingDevice } {
    const fleet = new Fleet()
    const device = fleet.added()
    expect(fleet.act(device, report(one, 1, [1, text(60_000)]))).toBe(1)
    return { fleet, device }
  }

  test.each<[string, DeviceCommand]>([
    ['an UPDATE with a text', report(one, 2, [2, text(60_000)])],
    ['an array of small numbers, which take 8 bytes each', report(one, 2, [3, Array(5_000).fill(1)])],
    ['an error', report(one, 2, [0, { error: text(60_000) }])],
    ['a POST, by the sum of its updates', post(halves)],
    ['a HELLO with values', hello([...declared, { shape: three, items: [0, text(60_000)] }])],
    ['a HELLO with many properties', hello([...declared, { shape: many, items: [] }])],
    ['metadata', { type: 'patch_meta', patch: { list: Array(1_000).fill({}) } }],
  ])('refuses %s as a whole if it would grow by it', (_, command) => {
    const { fleet, device } = filled()
    const before = device.restored()
    expect(fleet.act(device, command)).toMatch(full)
    expect(device.restored()).toEqual(before)
  })

  test('accepts changes that do not make it larger', () => {
    const { fleet, device } = filled()
    expect(fleet.act(device, report(one, 2, [0, 7]))).toBe(2)
    expect(fleet.act(device, report(one, 3, [1, 'y'.repeat(60_000)]))).toBe(3)
    // Of several items of one property, only the last one counts.
    expect(fleet.act(device, report(one, 4, [2, text(50_000), 1, text(50_000), 2, 'short', 1, text(60_000)]))).toBe(4)
    expect(fleet.act(device, hello(declared))).toMatchObject({ seq: 4 })
  })

  test('accepts more after it became smaller', () => {
    const { fleet, device } = filled()
    expect(fleet.act(device, report(one, 2, [1, { error: 'gone' }]))).toBe(2)
    expect(fleet.act(device, report(one, 3, [2, text(60_000)]))).toBe(3)
  })

  test('because its store had no limit may change and shrink, but not grow', () => {
    const fleet = new Fleet()
    const large = ActingDevice.added()
    large.act(hello(declared))
    large.act(report(one, 1, [1, text(200_000), 2, text(200_000)]))
    const device = fleet.added()
    Object.assign(device.state, large.restored())
    expect(fleet.act(device, report(one, 2, [0, 7, 1, 'y'.repeat(200_000)]))).toBe(2)
    expect(fleet.act(device, report(one, 3, [1, text(200_001)]))).toMatch(full)
    expect(fleet.act(device, report(one, 3, [1, text(150_000)]))).toBe(3)
  })
})

describe('a tenant', () => {
  test('counts the sizes of large devices, also after a restart, and not of removed ones', () => {
    const fleet = new Fleet()
    const device = fleet.added()
    fleet.act(device, report(one, 1, [1, text(countedBytesStep - 1_000)]))
    expect(fleet.counted).toEqual({})
    fleet.act(device, report(one, 2, [1, text(2 * countedBytesStep)]))
    expect(fleet.counted).toEqual({ A: 2 * countedBytesStep })
    expect(fleet.tenant.woken().memory).toEqual(fleet.tenant.state.memory)
    fleet.act(device, report(one, 3, [1, '']))
    expect(fleet.counted).toEqual({})
    fleet.act(device, report(one, 4, [1, text(2 * countedBytesStep)]))
    fleet.act(device, { type: 'remove' })
    expect(fleet.tenant.state.memory).toEqual({ bytes: 0, byDevice: new Map() })
  })

  test('that is full refuses the growth of large devices, but not that of small ones', () => {
    const fleet = new Fleet()
    for (const name of ['B', 'C']) fleet.act(fleet.added(name), report(one, 1, [1, text(90_000)]))
    const device = fleet.added()
    expect(fleet.act(device, report(one, 1, [1, text(60_000)]))).toMatch(
      /^memory_full: the devices of the tenant would take \d+ bytes of memory, more than TENANT_BYTES_MAX, 200000$/,
    )
    expect(fleet.act(device, report(one, 1, [1, text(10_000), 0, 3]))).toBe(1)
  })
})

test('a property has its last value, time and offset, and the running count of bytes is the size of all values', () => {
  const state = fc.oneof(
    fc.constantFrom<PropertyState>(null, 0, 1.5, true, 'x', '中', [], [1, 2], ['a', 1], { error: 'e' }),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.string({ maxLength: 40 }),
  )
  const index = fc.nat(one.properties.length - 1)
  const item = fc.record({ index, value: state, time: fc.nat(2 ** 45), offset: fc.maxSafeNat() })
  const contentOf = (service: ServiceState) => [service.states(), service.times(), service.offsets()]
  forAll([fc.array(fc.array(item, { maxLength: 6 }), { maxLength: 10 })], (all) => {
    const service = new ServiceState(one)
    const expected: [PropertyState, number, number][] = one.properties.map(() => [null, 0, 0])
    for (const items of all) {
      const growth = service.growthBy(items.flatMap(({ index, value }) => [index, value]))
      const before = service.valueBytes
      for (const { index, value, time, offset } of items) {
        service.set(index, value, time, offset)
        expected[index] = [value, time, offset]
        expect(service.stateOf(index)).toEqual(value)
      }
      expect(service.valueBytes - before).toBe(growth)
    }
    expect(contentOf(service)).toEqual([0, 1, 2].map((part) => expected.map((values) => values[part])))
    expect(contentOf(new ServiceState(one, service.states(), service.times(), service.offsets()))).toEqual(
      contentOf(service),
    )
    const sum = service.states().reduce((bytes: number, value) => bytes + memoryOf(value), 0)
    expect([service.valueBytes, service.copy().valueBytes]).toEqual([sum, sum])
  })
})
