import { describe, expect, test } from 'vitest'
import type { DeviceCommand } from '#actors/device/commands'
import type { DesiredOrder } from '#actors/device/desired'
import { modifierFlags } from '#model/modifier'
import { ServiceSchema } from '#model/service-schema'
import { now } from '#test/actors/acting-actor'
import { ActingDevice, hello, kindsOf, post, report, shapeOf } from '#test/actors/acting-device'

/** Desired values of a device. Contract 12. */

const svc = shapeOf('svc', { 1: 'uint8', 2: 'float', 3: 'string', 4: ['uint8', modifierFlags.isReadOnly] })
const other = shapeOf('other', { 1: 'uint8' })
const levelBelow = (rangeMax: number) =>
  ServiceSchema.parse({ name: 'S', properties: { '0x0001': { name: 'level', type: 'uint8', rangeMin: 0, rangeMax } } })
const schema = levelBelow(10)

class DeviceWithDesired extends ActingDevice {
  #ids = 0

  static connected(): DeviceWithDesired {
    const device = new DeviceWithDesired()
    device.act({ type: 'add', flakeAddress: 7, meta: {} })
    device.act(hello([svc, other].map((shape) => ({ shape, items: [] }))))
    return device
  }

  set(values: object, isWhole = false, service = 'svc', by = schema) {
    const desired = { service, values: values as Record<string, unknown>, isWhole, schema: by, id: `r${++this.#ids}` }
    return this.act({ type: 'set_desired', ...desired })
  }

  /** The WRITEs for a connection that has already received these requests, as `r1 svc 1=5 2=6`. */
  sends(sent: readonly string[] = [], by = schema): string[] {
    const schemas = new Map([['svc', by]])
    const decision = this.act({ type: 'send_desired', sent: new Set(sent), schemas })
    const { answer } = decision as unknown as { answer: readonly DesiredOrder[] }
    return answer.map(({ id, order: { service, updates } }) =>
      [id, service, ...updates.map(({ propId, value }) => `${propId}=${value}`)].join(' '),
    )
  }

  /** The desired values with their status, as `1=5 PENDING`. */
  get wanted(): string[] {
    return [...this.state.desired.values()].flatMap((items) =>
      items.map(({ propId, value, status, message }) => `${propId}=${value} ${status}${message ? ` ${message}` : ''}`),
    )
  }
}

test('desired values are set, replaced and removed, and a value that is already desired does not change', () => {
  const device = DeviceWithDesired.connected()
  expect(device.set({ level: 5, '2': 1.5 })).toMatchObject({
    events: [{ kind: 'desired_set', device: 'A', service: 'svc', at: now, items: [{ propId: 1 }, { propId: 2 }] }],
  })
  device.sends()
  expect(device.set({ '1': 5 })).toMatchObject({ type: 'answer' })
  expect(device.wanted).toEqual(['1=5 SENT', '2=1.5 SENT'])
  device.set({ '0x0001': 6, '3': 'x' })
  expect(device.wanted).toEqual(['1=6 PENDING', '2=1.5 SENT', '3=x PENDING'])
  device.set({ '2': null })
  expect(device.wanted).toEqual(['1=6 PENDING', '3=x PENDING'])
  device.set({ '3': 'x' }, true)
  expect(device.wanted).toEqual(['3=x PENDING'])
  expect(device.restored().desired).toEqual(device.state.desired)
  device.set({}, true)
  expect([device.wanted, device.state.desired.size]).toEqual([[], 0])
  expect(device.set({}, true)).toMatchObject({ type: 'answer' })
})

test.each([
  ['an unknown service', { '1': 5 }, 'missing', 'not_found'],
  ['an unknown property', { '9': 5 }, 'svc', 'property_unknown'],
  ['the removal of an unknown property', { '9': null }, 'svc', 'property_unknown'],
  ['a read-only property', { '4': 5 }, 'svc', 'invalid'],
  ['another type', { '1': 'x' }, 'svc', 'invalid'],
  ['a value outside of the range', { level: 10 }, 'svc', 'invalid'],
])('as a desired value, %s is refused with the error of a write', (_, values, service, code) => {
  expect(DeviceWithDesired.connected().set(values, false, service)).toMatchObject({ type: 'refuse', problem: { code } })
})

test('a connection receives each change once, and a new connection receives all values without an answer', () => {
  const device = DeviceWithDesired.connected()
  device.set({ '1': 5, '2': 1 })
  device.set({ '1': 7 }, false, 'other')
  expect(device.sends()).toEqual(['r1 svc 1=5 2=1', 'r2 other 1=7'])
  expect(device.sends(['r1', 'r2'])).toEqual([])
  device.set({ '1': 6 })
  expect(device.sends(['r1', 'r2'])).toEqual(['r3 svc 1=6'])
  expect(device.sends()).toEqual(['r3 svc 1=6', 'r1 svc 2=1', 'r2 other 1=7'])
})

describe('the result of a desired value', () => {
  const result = (id: string, status: 'OK' | 'REJECTED', propId = 1, message?: string): DeviceCommand => ({
    ...{ type: 'desired_result', id },
    results: [{ propId, status, ...(message && { message }) }],
  })

  test('removes the value, or marks it as refused until it is replaced', () => {
    const device = DeviceWithDesired.connected()
    device.set({ '1': 5, '2': 1, '3': 'x' })
    device.sends()
    device.act(result('r1', 'OK'))
    device.act(result('r1', 'REJECTED', 2, 'too hot'))
    expect(device.wanted).toEqual(['2=1 REJECTED too hot', '3=x SENT'])
    expect(device.sends()).toEqual(['r1 svc 3=x'])
    device.set({ '2': 1 })
    expect(device.sends(['r1'])).toEqual(['r2 svc 2=1'])
  })

  test('changes nothing if the value was replaced meanwhile', () => {
    const device = DeviceWithDesired.connected()
    device.set({ '1': 5 })
    device.sends()
    device.set({ '1': 6 })
    expect(device.act(result('r1', 'OK'))).toMatchObject({ type: 'answer' })
    expect(device.wanted).toEqual(['1=6 PENDING'])
  })
})

describe('a desired value ends', () => {
  test.each([
    ['a report', (device: DeviceWithDesired) => device.act(report(svc, 0, [0, 5]))],
    ['POST /link', (device: DeviceWithDesired) => device.act(post([['svc', 1, 5]]))],
    [
      'the declaration of POST /link',
      (device: DeviceWithDesired) => device.act({ ...post([]), services: [{ shape: svc, items: [0, 5] }] }),
    ],
    ['HELLO', (device: DeviceWithDesired) => device.act(hello([{ shape: svc, items: [0, 5] }]))],
  ])('when %s contains it, even if the device had this value before', (_, send) => {
    const device = DeviceWithDesired.connected()
    send(device)
    device.set({ '1': 5, '2': 1 })
    expect(device.wanted).toEqual(['1=5 PENDING', '2=1 PENDING'])
    expect(kindsOf(device.act(report(svc, 0, [0, 6])))).toEqual(['reported'])
    device.set({ '1': 6 })
    expect(kindsOf(device.act(report(svc, 0, [0, 6, 1, 2])))).toEqual(['reported', 'desired_set'])
    expect(device.wanted).toEqual(['2=1 PENDING'])
    device.set({ '1': 5 })
    send(device)
    expect(device.wanted).toEqual(['2=1 PENDING'])
    device.set({ '1': 5 })
    send(device)
    expect(device.wanted).toEqual(['2=1 PENDING'])
  })

  test.each([
    ['is not declared any more', shapeOf('svc', { 2: 'float' }), ['2=1 PENDING']],
    ['has another type', shapeOf('svc', { 1: 'string', 2: 'float' }), ['2=1 PENDING']],
    ['is read-only', shapeOf('svc', { 1: ['uint8', modifierFlags.isReadOnly], 2: 'float' }), ['2=1 PENDING']],
    ['is in a service that is not declared any more', other, []],
    ['is declared as before', svc, ['1=5 PENDING', '2=1 PENDING']],
  ])('or stays after HELLO, if its property %s', (_, shape, left) => {
    const device = DeviceWithDesired.connected()
    device.set({ '1': 5, '2': 1 })
    device.act(hello([{ shape, items: [] }]))
    expect(device.wanted).toEqual(left)
  })

  test('before the removal of its device is published', () => {
    const device = DeviceWithDesired.connected()
    device.set({ '1': 5 })
    const decision = device.act({ type: 'remove' })
    expect(kindsOf(decision)).toEqual(['desired_set', 'undeclared', 'undeclared', 'device_removed'])
    expect(decision).toMatchObject({ events: [{ items: [] }, {}, {}, {}] })
  })
})

test('a value that a later schema does not permit is refused instead of sent', () => {
  const device = DeviceWithDesired.connected()
  device.set({ '1': 5, '2': 1 })
  expect(device.sends([], levelBelow(3))).toEqual(['r1 svc 2=1'])
  expect(device.wanted).toEqual(['1=5 REJECTED must be below 3', '2=1 SENT'])
})
