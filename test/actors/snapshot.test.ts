import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ServiceState } from '#actors/device/service-state'
import { readSnapshot, writeSnapshot } from '#actors/device/snapshot'
import {
  type AlarmState,
  AlarmStates,
  absentDevice,
  type DeviceState,
  noAlarms,
  noDesired,
  noThrottles,
} from '#actors/device/state'
import { type PackedDesired, unpackDesired } from '#model/desired'
import type { PropertyState } from '#model/entry'
import type { JsonObject } from '#model/json-value'
import type { Shape } from '#model/shape'
import { MsgpackReader } from '#store/msgpack-reader'
import { MsgpackWriter, pack, unpack } from '#store/record-codec'
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
const acknowledged = fc.record({ by: fc.string(), at: time, comment: fc.option(fc.string()) })
const alarms = fc.array(fc.tuple(fc.string(), alarm), size)
const throttles = fc.array(fc.tuple(fc.string(), time), size).map((each) => new Map(each))
const item = fc.record(
  {
    propId: fc.nat(),
    value: fc.oneof(fc.integer(), fc.string(), fc.array(fc.nat())),
    since: time,
    id: fc.string(),
    status: fc.constantFrom('PENDING' as const, 'SENT' as const, 'REJECTED' as const),
    message: fc.string(),
  },
  { requiredKeys: ['propId', 'value', 'since', 'id', 'status'] },
)
const items = fc.array(item, { minLength: 1, maxLength: 3 })
const desired = fc.array(fc.tuple(fc.string(), items), { minLength: 1, maxLength: 3 }).map((each) => new Map(each))

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
      // The API refuses this name, and the codec writes it as another name.
      .filter((meta) => !JSON.stringify(meta).includes('"__proto__"')),
  })
  .map((fields) => ({ ...absentDevice('A'), exists: true, ...fields }))

const filled = fc.record({ device, alarms, acknowledged, throttles, desired }).map((drawn): DeviceState => {
  const [[id, first], ...others] = drawn.alarms as [[string, AlarmState], ...[string, AlarmState][]]
  const alarms = AlarmStates.of([...others, [id, { ...first, acknowledged: drawn.acknowledged }]])
  return { ...drawn.device, alarms, throttles: drawn.throttles, desired: drawn.desired }
})

type Contents = readonly [alarms: boolean, throttles: boolean, acknowledgements: boolean, desired: boolean]

/** Empties the parts of a device that are not in `Contents`. */
function only([hasAlarms, hasThrottles, hasAcknowledgements, hasDesired]: Contents, filled: DeviceState): DeviceState {
  const bare = Array.from(filled.alarms, ([id, { acknowledged: _, ...alarm }]) => [id, alarm] as const)
  const alarms = hasAcknowledgements ? filled.alarms : AlarmStates.of(bare)
  return {
    ...filled,
    alarms: hasAlarms ? alarms : noAlarms,
    throttles: hasThrottles ? filled.throttles : noThrottles,
    desired: hasDesired ? filled.desired : noDesired,
  }
}

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
const written = (state: DeviceState): Buffer => {
  const writer = new MsgpackWriter()
  expect(writeSnapshot(state, writer)).toBe(true)
  return Buffer.from(writer.written)
}

/** The fields that are always stored, in the order of the stored list. */
const fieldsOf = (state: DeviceState) => [
  ...[state.flakeAddress, state.status, state.lastMessage, state.lastConnect, state.numConnects, state.session],
  ...[state.seq, state.project, state.firmwares, state.isAutoUpdated, state.meta],
  state.services.map((each) => [each.shape.id, each.states(), each.times(), each.offsets()]),
]

const combinations = Array.from({ length: 16 }, (_, bits) => [1, 2, 4, 8].map((bit) => (bits & bit) !== 0))

test.each(combinations as unknown as Contents[])(
  'a device is restored from its snapshot, with alarms: %s, throttles: %s, acknowledgements: %s, desired values: %s',
  (...contents) => {
    forAll([filled], 50, (drawn) => {
      const before = only(contents, drawn)
      const bytes = written(before)
      // The general encoder writes the same bytes.
      expect(Buffer.from(pack(unpack(bytes))).toString('hex')).toBe(bytes.toString('hex'))
      const after = read(bytes, before) ?? expect.fail('the snapshot is not read')
      expect({ ...after, services: fieldsOf(after) }).toEqual({ ...before, services: fieldsOf(before) })
      expect([...after.alarms, ...after.throttles]).toEqual([...before.alarms, ...before.throttles])
      expect(after.alarms.unsettled).toBe(before.alarms.unsettled)
      const [hasAlarms, hasThrottles, , hasDesired] = contents
      const shared = [after.alarms === noAlarms, after.throttles === noThrottles, after.desired === noDesired]
      expect(shared).toEqual([!hasAlarms, !hasThrottles, !hasDesired])
    })
  },
)

test('a damaged snapshot is refused, or read as the general decoder reads it', () => {
  const change = fc.record({ place: fc.nat(1_000), byte: fc.integer({ min: 0, max: 255 }), isCut: fc.boolean() })
  const changes = fc.array(change, { minLength: 1, maxLength: 2 })
  forAll([fc.constantFrom(...combinations), filled, changes], 500, (contents, drawn, changes) => {
    const before = only(contents as unknown as Contents, drawn)
    let bytes = written(before)
    for (const { place, byte, isCut } of changes) {
      if (isCut && place % 7 === 0) bytes = bytes.subarray(0, place % bytes.length)
      else bytes[place % bytes.length] = byte
    }
    let after: DeviceState | undefined
    try {
      after = read(bytes, before)
    } catch {}
    if (!after) return
    const stored = unpack(bytes) as unknown[]
    expect(fieldsOf(after)).toEqual(stored.slice(0, 12))
    const [alarms = [], throttles = [], acknowledgements = [], desired = []] = stored.slice(12) as unknown[][]
    const states = new Map(
      rowsOf(alarms, 4).map(([id, isActive, since, waitingSince]) => [id, { isActive, since, waitingSince }]),
    )
    for (const [id, by, at, comment] of rowsOf(acknowledgements, 4))
      Object.assign(states.get(id) ?? {}, { acknowledged: { by, at, comment } })
    expect(new Map(after.alarms)).toEqual(states)
    expect(after.throttles).toEqual(new Map(rowsOf(throttles, 2) as [string, number][]))
    const wanted = desired as [string, PackedDesired][]
    expect(after.desired).toEqual(new Map(wanted.map(([service, items]) => [service, unpackDesired(items)])))
  })
})

function rowsOf(list: readonly unknown[], length: number): [string, ...unknown[]][] {
  return Array.from({ length: list.length / length }, (_, at) => list.slice(at * length, (at + 1) * length)) as never
}

const plain: DeviceState = { ...absentDevice('A'), exists: true, flakeAddress: 7 }
const plainFields = unpack(written(plain)) as unknown[]

test.each<[unknown[]]>([
  [['more']],
  [[[], 'more']],
  [[['id', true, 1]]],
  [[['id', 1, 1, 1]]],
  [[[], ['F1/n']]],
  [[[], [], 'more']],
  [[[], [], ['id', 'by', 1, null]]],
  [[['id', true, 1, 1], [], ['id', 'by', 1]]],
  [[['id', true, 1, 1], [], ['id', 'by', 'at', null]]],
  [[[], [], [], 'more']],
  [[[], [], [], [['svc']]]],
  [[[], [], [], [[1, []]]]],
])('a snapshot is not read if a field has another form: %j', (more) => {
  expect(read(pack([...plainFields, ...more]), plain)).toBeUndefined()
})

test('a snapshot is not read if it has too few fields, or bytes after the last one', () => {
  expect(read(pack(plainFields.slice(0, 11)), plain)).toBeUndefined()
  expect(read(Buffer.concat([pack(plainFields), Buffer.of(1)]), plain)).toBeUndefined()
})

test.each<[unknown[]]>([
  [[[]]],
  [[[], []]],
  [[[], [], []]],
  [[[], [], [], []]],
  [[[], [], [], [], { of: ['a newer release'] }]],
])('a snapshot is the same with empty lists or unknown fields at its end: %j', (more) => {
  const after = read(pack([...plainFields, ...more]), plain)
  expect(after).toEqual(plain)
  expect([after?.alarms, after?.throttles, after?.desired]).toEqual([noAlarms, noThrottles, noDesired])
})

test('a snapshot without optional fields has the bytes of earlier commits', () => {
  expect(written(plain).toString('hex')).toBe('9c07a76f66666c696e65000000a000c090c38090')
})

test('alarms, throttle times, acknowledgements and desired values follow each other in a fixed order', () => {
  const throttles = new Map([['F1/daily', 5]])
  expect(unpack(written({ ...plain, throttles }))).toEqual([...plainFields, [], ['F1/daily', 5]])
  const alarms = AlarmStates.of([
    ['I1', { isActive: true, since: 3, waitingSince: 0, acknowledged: { by: 'crn#user:1', at: 4, comment: 'ok' } }],
    ['I2', { isActive: false, since: 0, waitingSince: 6 }],
  ])
  const desired = new Map([['svc', [{ propId: 1, value: [2], since: 8, id: 'a', status: 'SENT' as const }]]])
  expect(unpack(written({ ...plain, alarms, throttles, desired }))).toEqual([
    ...plainFields,
    ['I1', true, 3, 0, 'I2', false, 0, 6],
    ['F1/daily', 5],
    ['I1', 'crn#user:1', 4, 'ok'],
    [['svc', [[1, [2], 8, 'a', 1, null]]]],
  ])
  expect(unpack(written({ ...plain, desired }))).toEqual([...plainFields, [], [], [], [['svc', expect.anything()]]])
})

test('a firmware without a hardware, which is stored as undefined, is restored', () => {
  const before = { ...plain, firmwares: [{ firmware: '1', hardware: undefined, index: 0 }] }
  expect(read(written(before), before)).toStrictEqual(before)
})

test('a removed device writes no snapshot', () => {
  const writer = new MsgpackWriter()
  expect(writeSnapshot(absentDevice('A'), writer)).toBe(false)
  expect(writer.length).toBe(0)
})
