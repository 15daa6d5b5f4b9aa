import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ServiceState } from '#actors/device/service-state'
import { deviceOf, snapshotOf, writeSnapshot } from '#actors/device/snapshot'
import { absentDevice, type DeviceState } from '#actors/device/state'
import type { PropertyState } from '#model/entry'
import type { JsonObject } from '#model/json-value'
import type { Shape } from '#model/shape'
import { MsgpackWriter } from '#store/msgpack-writer'
import { pack, unpack } from '#store/record-codec'
import { shape } from '#test/store/entry-arbitrary'

const time = fc.oneof(
  fc.constant(0),
  fc.integer({ min: 1_600_000_000_000, max: 1_900_000_000_000 }),
  fc.double({ noNaN: true }).map((value) => value + 0),
)
const offset = fc.oneof(fc.nat(), fc.maxSafeNat())
const state: fc.Arbitrary<PropertyState> = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
  fc.integer(),
  fc.boolean(),
  fc.string(),
  fc.constant(null),
  fc.record({ error: fc.string() }),
)

const service = shape.chain((of) => {
  const { length } = of.properties
  const listOf = <T>(each: fc.Arbitrary<T>) => fc.array(each, { minLength: length, maxLength: length })
  return fc
    .tuple(listOf(state), listOf(time), listOf(offset))
    .map(([states, times, offsets]) => new ServiceState(of, states, times, offsets))
})

const device: fc.Arbitrary<DeviceState> = fc
  .record({
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
      // Refused at the border, and written under another name by the codec.
      .filter((meta) => !JSON.stringify(meta).includes('"__proto__"')),
  })
  .map((fields) => ({ ...absentDevice('A'), isThere: true, ...fields }))

test('a snapshot written piece by piece is the one that is packed, and comes back', () => {
  fc.assert(
    fc.property(device, (before) => {
      const writer = new MsgpackWriter()
      expect(writeSnapshot(before, writer)).toBe(true)
      const packed = pack(snapshotOf(before))
      expect(Buffer.from(writer.written).toString('hex')).toBe(Buffer.from(packed).toString('hex'))
      const shapes = new Map<string, Shape>(before.services.map(({ shape }) => [shape.id, shape]))
      const after = deviceOf('A', unpack(writer.written), (id) => shapes.get(id) as Shape)
      expect(snapshotOf(after)).toEqual(snapshotOf(before))
    }),
    { numRuns: 300 },
  )
})

test('of a device that is gone nothing is written', () => {
  const writer = new MsgpackWriter()
  expect(writeSnapshot(absentDevice('A'), writer)).toBe(false)
  expect(writer.length).toBe(0)
})
