import { beforeEach, describe, expect, test } from 'vitest'
import type { DeviceCommand } from '#actors/device/commands'
import { isOverridden } from '#actors/device/state'
import { connectsSince } from '#actors/device/status'
import type { JsonObject } from '#model/json-value'
import { metaBytesMax } from '#model/meta'
import { now, startedAt } from '#test/actors/acting-actor'
import { ActingDevice, hello, kindsOf, post, report, shapeOf, shownState } from '#test/actors/acting-device'

const one = shapeOf('svc', { 1: 'uint8', 2: 'string' })
const two = shapeOf('two', { 5: 'float' })

let device: ActingDevice
beforeEach(() => {
  device = ActingDevice.added()
})

describe('a device that is added or removed', () => {
  test('exists at once and is offline', () => {
    const device = new ActingDevice()
    const decision = device.record({ type: 'add', flakeAddress: 7, meta: {} })
    expect(decision.events).toEqual([{ kind: 'device_added', device: 'A', flakeAddress: 7, at: now }])
    expect(decision.isCheckpointed).toBe(true)
    expect(device.state).toMatchObject({ exists: true, flakeAddress: 7, status: 'offline', numConnects: 0 })
  })

  test('gets the metadata of the request', () => {
    const device = new ActingDevice()
    const decision = device.act({ type: 'add', flakeAddress: 7, meta: { place: 'x' } })
    expect(kindsOf(decision)).toEqual(['device_added', 'meta_set'])
    expect(device.state.meta).toEqual({ place: 'x' })
  })

  test('is not added again if it exists', () => {
    const again = device.act({ type: 'add', flakeAddress: 8, meta: {} })
    expect(again).toMatchObject({ type: 'refuse', problem: { code: 'conflict' } })
  })

  test('publishes the removal of its services before that of the device, and leaves no record', () => {
    device.act(hello([one, two].map((shape) => ({ shape, items: [] }))))
    const decision = device.record({ type: 'remove' })
    expect(kindsOf(decision)).toEqual(['undeclared', 'undeclared', 'device_removed'])
    expect(decision.isCheckpointed).toBe(true)
    expect(decision.records).toEqual(['secret', 'registrar'].map((name) => ({ name, value: null })))
    for (const row of ['present/A', 'service/svc/A', 'service/two/A']) {
      const [index = '', ...entry] = row.split('/')
      expect(decision.indexes).toContainEqual({ index, entry: entry.join('/'), isPresent: false })
    }
    expect(decision.tells).toMatchObject([
      { to: { kind: 'tenant', id: 'default' }, command: { type: 'device_gone' } },
      { to: { kind: 'update', id: 'A' }, command: { type: 'forget' } },
    ])
    expect(shownState(device.state)).toEqual(shownState(new ActingDevice().state))
    expect(shownState(device.restored())).toEqual(shownState(device.state))
  })

  test('has none of the earlier data when it is added again', () => {
    device.act(hello([{ shape: one, items: [0, 5] }]))
    device.act(report(one, 9, [0, 6]))
    device.act({ type: 'remove' })
    device.act({ type: 'add', flakeAddress: 8, meta: {} })
    expect(device.state).toMatchObject({ flakeAddress: 8, services: [], session: '', seq: 0, meta: {} })
  })

  test.each<DeviceCommand>([
    { type: 'remove' },
    { type: 'set_secret', hash: new Uint8Array(32) },
    { type: 'delete_meta_key', key: 'a' },
    { type: 'patch_meta', patch: {} },
    { type: 'status', status: 'online' },
    hello(),
    report(one, 1, [0, 5]),
    post([]),
  ])('must exist for the command $type', (command) => {
    expect(new ActingDevice().act(command)).toMatchObject({ type: 'refuse', problem: { kind: { status: 404 } } })
  })

  test.each([
    [{}, []],
    [{ secretHash: Uint8Array.of(1) }, ['secret']],
    [{ registrar: 'P1' }, ['registrar']],
    [{ secretHash: Uint8Array.of(1), registrar: 'P1' }, ['secret', 'registrar']],
  ])('that is added with %j stores these values', (more, names) => {
    const device = new ActingDevice()
    device.record({ type: 'add', flakeAddress: 7, meta: {}, ...more })
    expect([...device.records.keys()]).toEqual(names)
    device.record({ type: 'remove' })
    expect(device.records.size).toBe(0)
  })

  test('reports its removal with the provisioning key that registered it, if there was one', () => {
    const sent = (command: DeviceCommand) => ActingDevice.added().record(command).tells?.[0]?.command
    expect(sent({ type: 'remove' })).toMatchObject({ type: 'device_gone' })
    expect(sent({ type: 'remove' })).not.toHaveProperty('key')
    expect(sent({ type: 'remove', registrar: 'P1' })).toMatchObject({ type: 'device_gone', key: 'P1' })
  })

  test('stores a secret that is not published', () => {
    const hash = Uint8Array.of(1, 2, 3)
    const decision = ActingDevice.added().record({ type: 'set_secret', hash })
    expect(decision).toMatchObject({ events: [], records: [{ name: 'secret', value: hash }] })
  })
})

describe('HELLO', () => {
  test('of an offline device publishes discovery, then the status, and counts a connect', () => {
    const decision = device.record(hello([{ shape: one, items: [0, 5] }]))
    expect(kindsOf(decision)).toEqual(['declared', 'discovered', 'status_changed'])
    const online = { status: 'online', numConnects: 1, lastConnect: now, lastMessage: now }
    expect(decision.events.at(-1)).toMatchObject(online)
    expect(decision.indexes).toContainEqual({ index: 'present', entry: 'A', isPresent: true })
    expect(decision.answer).toEqual({ flakeAddress: 7, seq: 0 })
  })

  test('on another connection of an online device counts a connect without an event', () => {
    device.act(hello([], { firmwares: [{ firmware: '1.0.0', index: 0 }] }))
    device.at += 1_000
    expect(kindsOf(device.act(hello()))).toEqual([])
    expect(device.state).toMatchObject({ numConnects: 2, lastConnect: now + 1_000 })
    device.at += 1_000
    device.act(hello([], { isConnect: false }))
    expect(device.state).toMatchObject({ numConnects: 2, lastConnect: now + 1_000, lastMessage: now + 2_000 })
  })

  const firmwares = [{ firmware: '1.0.0', index: 0 }]
  test.each<[string, Parameters<typeof hello>[1][], string[]]>([
    ['nothing is known or sent', [{}, {}], ['discovered']],
    ['firmwares are sent each time', [{ firmwares }, { firmwares }], ['discovered']],
    ['firmwares are known, and nothing is sent', [{ firmwares }, {}], []],
    ['firmwares are known, and the project is another', [{ firmwares }, { project: 'p' }], ['discovered']],
    ['the firmware is known, and the project is the same', [{ firmwares, project: 'p' }, { project: 'p' }], []],
    ['automatic updates are turned off', [{ firmwares }, { isAutoUpdated: false }], ['discovered']],
  ])('publishes discovery as needed: %s', (_, hellos, expected) => {
    const [last, ...earlier] = [...hellos].reverse()
    for (const each of earlier.reverse()) device.act(hello([], each))
    expect(kindsOf(device.act(hello([], last)))).toEqual(expected)
  })

  test('does not change the values of fields that it leaves out', () => {
    device.act(hello([], { project: 'p', firmwares, isAutoUpdated: false }))
    device.act(hello([], { isAutoUpdated: false }))
    expect(device.state).toMatchObject({ project: 'p', firmwares, isAutoUpdated: false })
  })

  test.each([
    ['the present session', 's', 3],
    ['another session', 't', 0],
  ])('is answered with the last sequence number of %s', (_, session, seq) => {
    device.act(hello([{ shape: one, items: [] }]))
    device.act(report(one, 3, [0, 5]))
    expect(device.record(hello([{ shape: one, items: [] }], { session })).answer).toEqual({ flakeAddress: 7, seq })
    // A session begins with its first UPDATE, not with HELLO.
    expect(device.state).toMatchObject({ session: 's', seq: 3 })
  })
})

describe('the status', () => {
  test('is published with each change, and the presence index has a row unless the device is offline', () => {
    expect(kindsOf(device.act({ type: 'status', status: 'offline' }))).toEqual(['answer'])
    for (const status of ['online', 'idle', 'online', 'offline', 'idle', 'offline'] as const) {
      const { events, indexes } = device.record({ type: 'status', status })
      expect(events).toMatchObject([{ kind: 'status_changed', status }])
      expect(indexes).toEqual([{ index: 'present', entry: 'A', isPresent: status !== 'offline' }])
      expect(kindsOf(device.act({ type: 'status', status }))).toEqual(['answer'])
      expect(device.state.status).toBe(status)
    }
  })

  test('is published with the number of connects since this process started', () => {
    Object.assign(device.state, { numConnects: 9, lastConnect: startedAt - 1 })
    expect(connectsSince(device.state, startedAt)).toBe(0)
    expect(device.record({ type: 'status', status: 'idle' }).events[0]).toMatchObject({ numConnects: 0 })
    device.act({ type: 'status', status: 'offline' })
    expect(device.record(hello()).events.at(-1)).toMatchObject({ numConnects: 1 })
    expect(connectsSince(device.state, startedAt)).toBe(1)
  })
})

describe('metadata', () => {
  test.each<[string, JsonObject, JsonObject, JsonObject, string[]]>([
    ['a new key', {}, { a: 1 }, { a: 1 }, ['meta_set']],
    ['the same value again', { a: 1 }, { a: 1 }, { a: 1 }, ['answer']],
    ['a key that is removed', { a: 1, b: 2 }, { a: null }, { b: 2 }, ['meta_set']],
    ['an unknown key that is removed', { b: 2 }, { a: null }, { b: 2 }, ['answer']],
  ])('is patched with %s', (_, before, patch, after, kinds) => {
    const device = new ActingDevice()
    device.act({ type: 'add', flakeAddress: 1, meta: before })
    const decision = device.act({ type: 'patch_meta', patch })
    expect(kindsOf(decision)).toEqual(kinds)
    expect(device.state.meta).toEqual(after)
    expect(decision).toMatchObject(decision.type === 'record' ? { answer: after } : { value: after })
  })

  test('is refused if it is too large', () => {
    const device = new ActingDevice()
    device.act({ type: 'add', flakeAddress: 1, meta: { a: 'x'.repeat(metaBytesMax - 100) } })
    const decision = device.act({ type: 'patch_meta', patch: { b: 'x'.repeat(200) } })
    expect(decision).toMatchObject({ type: 'refuse', problem: { code: 'invalid' } })
  })

  test('is published without a deleted key, with the name of this key; an unknown key is not found', () => {
    const device = new ActingDevice()
    device.act({ type: 'add', flakeAddress: 1, meta: { a: 1, b: 2 } })
    expect(device.record({ type: 'delete_meta_key', key: 'a' }).events).toEqual([
      { kind: 'meta_deleted', device: 'A', at: now, key: 'a' },
    ])
    expect(device.state.meta).toEqual({ b: 2 })
    for (const key of ['a', 'toString', '__proto__']) {
      expect(device.act({ type: 'delete_meta_key', key })).toMatchObject({ problem: { code: 'not_found' } })
    }
  })
})

test('the value of a property overrides older entries up to its own offset', () => {
  device.act(hello([{ shape: one, items: [0, 1] }]))
  const declaredAt = device.offset - 2
  device.act(report(one, 1, [0, 2]))
  const reportedAt = device.offset
  const isOldValue = (propId: number, offset: number, published: number, isRemoval = false, service = 'svc') =>
    isOverridden(device.state, device.offset, { service, propId, isRemoval, offset }, published)
  expect(isOldValue(1, declaredAt, reportedAt)).toBe(true)
  expect(isOldValue(1, declaredAt, reportedAt - 1)).toBe(false)
  expect(isOldValue(1, reportedAt, reportedAt)).toBe(false)
  expect(isOldValue(2, declaredAt, reportedAt)).toBe(false)
  device.act(hello([]))
  // The service was removed. Its values need no event, but its removal needs one.
  expect(isOldValue(1, reportedAt, device.offset)).toBe(true)
  expect(isOldValue(1, reportedAt, device.offset - 1)).toBe(false)
  expect(isOldValue(1, reportedAt, device.offset, true)).toBe(false)
})
