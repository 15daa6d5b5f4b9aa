import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ServiceState } from '#actors/device/service-state'
import { deviceOf, readSnapshot, snapshotOf, writeSnapshot } from '#actors/device/snapshot'
import {
  AlarmStates,
  absentDevice,
  type DeviceAlarms,
  type DeviceState,
  noAlarms,
  noThrottles,
} from '#actors/device/state'
import { throttlesOf } from '#actors/device/throttles'
import type { PropertyState } from '#model/entry'
import type { JsonObject } from '#model/json-value'
import type { Shape } from '#model/shape'
import { MsgpackReader } from '#store/msgpack-reader'
import { MsgpackWriter } from '#store/msgpack-writer'
import { pack, unpack } from '#store/record-codec'
import { forAll } from '#test/kit/for-all'
import { shape } from '#test/store/entry-arbitrary'

const time = fc.oneof(
  fc.constant(0),
  fc.integer({ min: 1_600_000_000_000, max: 1_900_000_000_000 }),
  fc.double({ noNaN: true }).map((value) => value + 0),
)
const offset = fc.oneof(fc.nat(), fc.maxSafeNat())
const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0)
const failed = fc.record({ error: fc.string() })
const other = fc.oneof(fc.constant(null), failed)
const state: fc.Arbitrary<PropertyState> = fc.oneof(number, fc.integer(), fc.boolean(), fc.string(), other)

const service = shape.chain((of) => {
  const { length } = of.properties
  const listOf = <T>(each: fc.Arbitrary<T>) => fc.array(each, { minLength: length, maxLength: length })
  return fc
    .tuple(listOf(state), listOf(time), listOf(offset))
    .map(([states, times, offsets]) => new ServiceState(of, states, times, offsets))
})

const size = { minLength: 1, maxLength: 20 }
const alarm = fc.record({ isActive: fc.boolean(), since: time, waitingSince: time })
const alarms: fc.Arbitrary<DeviceAlarms> = fc.oneof(
  fc.constant(noAlarms),
  fc.array(fc.tuple(fc.string(), alarm), size).map((each) => AlarmStates.of(each)),
)
const some = fc.array(fc.tuple(fc.string(), time), size)
const throttles = fc.oneof(
  fc.constant(noThrottles),
  some.map((each) => throttlesOf(each.flat())),
)

const device: fc.Arbitrary<DeviceState> = fc
  .record({
    alarms,
    throttles,
    flakeAddress: fc.integer({ min: 1, max: 0xffffffff }),
    services: fc.array(service, { maxLength: 18 }),
    status: fc.constantFrom('online' as const, 'idle' as const, 'offline' as const),
    lastMessage: time,
    lastConnect: time,
    numConnects: fc.nat(),
    session: fc.oneof(fc.string(), fc.constantFrom('', 'é', 'x'.repeat(300))),
    seq: fc.nat(),
    project: fc.option(fc.string()),
    firmwares: fc.array(fc.record({ firmware: fc.string(), hardware: fc.string(), index: fc.nat() }), { maxLength: 3 }),
    isAutoUpdated: fc.boolean(),
    meta: fc
      .dictionary(fc.string(), fc.jsonValue())
      .map((meta) => JSON.parse(JSON.stringify(meta)) as JsonObject)
      // The API refuses this name, and the codec writes it as another name.
      .filter((meta) => !JSON.stringify(meta).includes('"__proto__"')),
  })
  .map((fields) => ({ ...absentDevice('A'), exists: true, ...fields }))

const item = fc.record({
  propId: fc.nat(),
  value: fc.oneof(fc.integer(), fc.string()),
  since: fc.nat(),
  id: fc.string(),
  status: fc.constantFrom('PENDING' as const, 'SENT' as const),
})
const acknowledgement = fc.record({ by: fc.string(), at: fc.nat(), comment: fc.option(fc.string()) })
const desired = fc
  .array(fc.tuple(fc.string(), fc.array(item, { minLength: 1, maxLength: 3 })), { maxLength: 3 })
  .map((services) => new Map(services))

const shapesOf = ({ services }: DeviceState) => {
  const shapes = new Map<string, Shape>(services.map(({ shape }) => [shape.id, shape]))
  return (id: string) => {
    const found = shapes.get(id)
    if (!found) throw new Error('the shape is unknown')
    return found
  }
}
const read = (bytes: Uint8Array, before: DeviceState) =>
  new MsgpackReader().whole(bytes, (reader) => readSnapshot('A', reader, shapesOf(before)))

test('a snapshot that is written field by field equals the packed one and restores the same state', () => {
  forAll([device, desired, fc.option(acknowledgement)], 100, (bare, wanted, acknowledged) => {
    const alarms = AlarmStates.of(
      Array.from(bare.alarms, ([id, alarm]) => [id, { ...alarm, ...(acknowledged && { acknowledged }) }]),
    )
    const before = { ...bare, alarms, desired: wanted }
    const writer = new MsgpackWriter()
    expect(writeSnapshot(before, writer)).toBe(true)
    const packed = pack(snapshotOf(before))
    expect(Buffer.from(writer.written).toString('hex')).toBe(Buffer.from(packed).toString('hex'))
    expect(snapshotOf(deviceOf('A', unpack(writer.written), shapesOf(before)))).toEqual(snapshotOf(before))
  })
})

describe('a snapshot that is read field by field', () => {
  const plainState = (state: DeviceState) => ({ ...state, services: state.services.map(plainService) })
  const plainService = (each: ServiceState) => [each.shape, each.states(), each.times(), each.offsets()]

  test('gives the same state as the general decoder, to which it may leave a damaged snapshot', () => {
    const change = fc.record({ place: fc.nat(1_000), byte: fc.integer({ min: 0, max: 255 }), isCut: fc.boolean() })
    forAll([device, fc.array(change, { maxLength: 2 })], 500, (before, changes) => {
      let bytes: Buffer = Buffer.from(pack(snapshotOf(before)))
      for (const { place, byte, isCut } of changes) {
        if (isCut && place % 7 === 0) bytes = bytes.subarray(0, place % bytes.length)
        else bytes[place % bytes.length] = byte
      }
      const outcome = (make: () => DeviceState | undefined) => {
        try {
          const made = make()
          return made && plainState(made)
        } catch {
          return 'refused'
        }
      }
      const general = outcome(() => deviceOf('A', unpack(bytes), shapesOf(before)))
      const byHand = outcome(() => read(bytes, before))
      if (byHand !== undefined || changes.length === 0) expect(byHand).toStrictEqual(general)
    })
  })

  test('is left to the general decoder if it has more fields', () => {
    const before = { ...absentDevice('A'), exists: true }
    const more = [['more'], [[], 'more'], [[]], [['id', true, 1]], [['id', 1, 1, 1]], [[], []], [[], ['F1/n']]]
    for (const each of [...more, [[], ['F1/n', 1], 'more']]) {
      expect(read(pack([...(snapshotOf(before) ?? []), ...each]), before), JSON.stringify(each)).toBeUndefined()
    }
    expect(read(Buffer.concat([pack(snapshotOf(before)), Buffer.of(1)]), before)).toBeUndefined()
    expect(read(pack(snapshotOf(before)), before)).toEqual(before)
  })
})

test('a snapshot without alarms and throttle times has the format from before these existed', () => {
  const before = { ...absentDevice('A'), exists: true, flakeAddress: 7 }
  const bytes = '9c07a76f66666c696e65000000a000c090c38090'
  expect(Buffer.from(pack(snapshotOf(before))).toString('hex')).toBe(bytes)
  const after = deviceOf('A', unpack(Buffer.from(bytes, 'hex')), () => expect.fail('no shape is requested'))
  expect(after.alarms).toBe(noAlarms)
  expect(after.throttles).toBe(noThrottles)
})

test('throttle times follow the alarms, even if there are none', () => {
  const before = { ...absentDevice('A'), exists: true, throttles: throttlesOf(['F1/daily', 5]) }
  expect(snapshotOf(before)?.slice(12)).toEqual([[], ['F1/daily', 5]])
  expect(read(pack(snapshotOf(before)), before)).toEqual(before)
  const alarms = AlarmStates.of([['I1', { isActive: true, since: 3, waitingSince: 0 }]])
  expect(snapshotOf({ ...before, alarms })?.slice(12)).toEqual([
    ['I1', true, 3, 0],
    ['F1/daily', 5],
  ])
})

test('a removed device writes no snapshot', () => {
  const writer = new MsgpackWriter()
  expect(writeSnapshot(absentDevice('A'), writer)).toBe(false)
  expect(writer.length).toBe(0)
})
