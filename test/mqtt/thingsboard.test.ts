import { beforeEach, describe, expect, test } from 'vitest'
import { serviceOf } from '#actors/device/state'
import { tenantAddress } from '#actors/tenant/commands'
import { jsonNamesMax } from '#actors/tenant/schemas'
import { Problem } from '#model/problem'
import { MqttFixture, type TestClient } from '#test/mqtt/mqtt-fixture'

/** Devices that use the topics of ThingsBoard. */

let fixture: MqttFixture
let device: TestClient
beforeEach(async () => {
  fixture = await MqttFixture.open()
  device = await fixture.connected({ username: 'TB-1' }, 4)
})

const stateOf = (name = 'TB-1') => fixture.device(name)

/** The properties of a service by their id. */
function valuesOf(service: string, name?: string): Record<string, unknown> {
  const state = stateOf(name)
  const found = state && serviceOf(state, service)
  return Object.fromEntries(
    (found?.shape.properties ?? []).map(({ propId, type }, place) => [
      `0x${propId.toString(16)} ${type.name}`,
      found?.stateOf(place),
    ]),
  )
}

const schemaOf = (service = 'telemetry') =>
  fixture.assembly.context.system.peek(tenantAddress('default'))?.schemas.get(service)

let ids = 0
/** Publishes with QoS 1. Returns the reason of a refusal. */
async function publish(topic: string, payload: unknown, client = device): Promise<string | undefined> {
  const isRaw = typeof payload === 'string' || payload instanceof Buffer
  const text = isRaw ? payload : JSON.stringify(payload)
  client.received.length = 0
  client.publish(topic, text, { qos: 1, messageId: ++ids })
  await client.settle()
  expect(client.take('puback').messageId).toBe(ids)
  const error = client.received.find((packet) => packet.topic === 'v1/errors')
  return error && JSON.parse(String(error.payload)).message
}

const telemetry = (payload: unknown, client?: TestClient) => publish('v1/devices/me/telemetry', payload, client)

async function subscribe(topic: string, client = device): Promise<void> {
  expect(await client.subscribe(topic, { qos: 1 })).toBe(0)
}

const lastPublish = (client = device) => {
  const { topic, payload } = client.take('publish')
  return [topic, JSON.parse(String(payload))]
}

test.each<[string, unknown, Record<string, unknown>]>([
  ['{k: v}', { a: 1, b: true, c: 'x' }, { '0x2000 float64': 1, '0x2001 bool': true, '0x2002 string': 'x' }],
  ['objects and lists', { a: { b: [1] }, c: [] }, { '0x2000 string': '{"b":[1]}', '0x2001 string': '[]' }],
  ['a list', [{ a: 1 }, { a: 2, b: 3 }], { '0x2000 float64': 2, '0x2001 float64': 3 }],
  ['with a time', { ts: 1_000, values: { a: 1 } }, { '0x2000 float64': 1 }],
  [
    'with times',
    [
      { ts: 1_000, values: { a: 1 } },
      { ts: 2_000, values: { a: 2 } },
    ],
    { '0x2000 float64': 2 },
  ],
  ['fields named ts and values', { ts: 1, values: 2 }, { '0x2000 float64': 1, '0x2001 float64': 2 }],
  ['null', { a: null, b: 1 }, { '0x2000 float64': 1 }],
  ['nothing', {}, {}],
])('telemetry is reported: %s', async (_, payload, expected) => {
  expect(await telemetry(payload)).toBeUndefined()
  expect(valuesOf('telemetry')).toEqual(expected)
  expect(stateOf()?.status).toBe('online')
})

test.each<[string, unknown]>([
  ['a text that is not JSON', '{'],
  ['__proto__', '{"__proto__":1}'],
  ['a number', '1'],
  ['a list in a list', '[[]]'],
  ['invalid UTF-8', Buffer.from([0x22, 0xff, 0x22])],
  ['a name without characters', { '': 1 }],
  ['a name of 257 characters', { ['n'.repeat(257)]: 1 }],
  ['half a surrogate pair', '{"\\ud800":1}'],
  ['a time before 1970', { ts: -1, values: { a: 1 } }],
  ['a time with a fraction', { ts: 1.5, values: { a: 1 } }],
  ['ten thousand levels', '['.repeat(10_000)],
  ['twenty thousand fields', `{${'"a":1,'.repeat(20_000)}"a":1}`],
  ['ten thousand times', `[${'{},'.repeat(10_000)}{}]`],
])('telemetry is refused as a whole: %s', async (_, payload) => {
  expect(await telemetry(payload)).toMatch(/^(?:not a valid message|the body)/)
  expect(valuesOf('telemetry')).toEqual({})
  expect(device.isClosed).toBe(false)
})

test('one PUBLISH is one commit, which precedes PUBACK', async () => {
  device.publish('v1/devices/me/telemetry', '{"a":1,"b":2}', { qos: 1, messageId: 1 })
  fixture.faults.next = { fail: 'io', reachedDisk: false }
  await device.settle()
  expect(device.lines.filter((line) => line.startsWith('puback'))).toEqual([])
})

test('a later value of another type is an error of the property, until a value has the first type again', async () => {
  await telemetry({ a: 1, b: 'text' })
  await telemetry({ a: 'two', b: { json: true } })
  const error = { error: 'must be a finite number' }
  expect(valuesOf('telemetry')).toEqual({ '0x2000 float64': error, '0x2001 string': '{"json":true}' })
  await telemetry({ a: 3 })
  expect(valuesOf('telemetry')).toMatchObject({ '0x2000 float64': 3 })
  const other = await fixture.connected({ username: 'TB-2', clientId: 'other' }, 4)
  await telemetry({ a: 'text' }, other)
  expect(valuesOf('telemetry', 'TB-2')).toEqual({ '0x2000 string': 'text' })
})

test('names are in one schema of the tenant, which is changed at most once a second', async () => {
  await telemetry({ a: 1 })
  expect(schemaOf()).toEqual({ name: 'telemetry', generated: true, properties: { '0x2000': { name: 'a' } } })
  await telemetry({ b: 1 })
  await telemetry({ c: 1 })
  expect(Object.keys(schemaOf()?.properties ?? {})).toEqual(['0x2000'])
  await fixture.world.advance(1_000)
  expect(Object.keys(schemaOf()?.properties ?? {})).toEqual(['0x2000', '0x2001', '0x2002'])
  await publish('v1/devices/me/attributes', { model: 'X' })
  expect(schemaOf('attributes')?.properties).toEqual({ '0x2000': { name: 'model' } })
})

test('users may edit the schema: values keep arriving, and new names are added', async () => {
  await telemetry({ a: 1 })
  await fixture.world.advance(2_000)
  const schema = { name: 'Boiler', properties: { '0x2000': { name: 'b', unit: '°C' } } }
  await put(schema)
  await telemetry({ a: 5, b: 6 })
  expect(valuesOf('telemetry')).toEqual({ '0x2000 float64': 5, '0x2001 float64': 6 })
  expect(schemaOf()?.properties).toEqual({ ...schema.properties, '0x2001': { name: 'b (0x2001)' } })
  expect(schemaOf()?.name).toBe('Boiler')
})

test('names keep their ids over a restart, also those that are not in the schema yet', async () => {
  await telemetry({ a: 1 })
  await telemetry({ b: 2 })
  fixture = await fixture.restart()
  device = await fixture.connected({ username: 'TB-1' }, 4)
  await telemetry({ c: 3, b: 4, a: 5 })
  expect(valuesOf('telemetry')).toEqual({ '0x2000 float64': 5, '0x2001 float64': 4, '0x2002 float64': 3 })
  expect(Object.values(schemaOf()?.properties ?? {})).toEqual([{ name: 'a' }, { name: 'b' }, { name: 'c' }])
})

test('a tenant has at most a thousand names: more are refused, known ones are not', async () => {
  const many = Object.fromEntries(Array.from({ length: jsonNamesMax }, (_, place) => [`n${place}`, place]))
  await telemetry(many)
  expect(await telemetry({ more: 1, n1: 2 })).toMatch(/too many names/)
  expect(await publish('v1/devices/me/attributes', { more: 1 })).toMatch(/too many names/)
  expect(await telemetry({ n1: 3 })).toBeUndefined()
  expect(valuesOf('telemetry')).toMatchObject({ '0x2001 float64': 3 })
})

async function put(schema: { name: string; properties: Record<string, { name: string }> }): Promise<void> {
  const command = { type: 'put_schema', service: 'telemetry', schema } as const
  const done = fixture.assembly.context.system.ask(tenantAddress('default'), command)
  await fixture.world.settle()
  await done
}

describe('writes', () => {
  let count = 0
  function write(service: string, values: Record<string, unknown>, name = 'TB-1') {
    const schema = schemaOf(service)
    const request = { tenant: 'default', device: name, service, schema, id: `w${++count}`, values }
    const outcome = fixture.assembly.context.devices.links.writes
      .ask({ ...request, isWaiting: true, isRepeated: false })
      .then(({ updates }) => updates)
      .catch((error: unknown) => (error instanceof Problem ? error.code : error))
    return device.settle().then(() => ({ outcome }))
  }

  test.each<[string, string, unknown]>([
    ['an answer', '{"success":true}', { status: 'OK' }],
    ['an empty answer', '', { status: 'OK' }],
    ['an error', '{"error":"too hot"}', { status: 'REJECTED', message: 'too hot' }],
    ['an error that is not a text', '{"error":{"code":7}}', { status: 'REJECTED', message: '{"code":7}' }],
  ])('telemetry is written by RPC: %s', async (_, answer, result) => {
    await telemetry({ setpoint: 20 })
    await subscribe('v1/devices/me/rpc/request/+')
    const { outcome } = await write('telemetry', { setpoint: 21 })
    const [topic, payload] = lastPublish()
    expect(payload).toEqual({ method: 'setProperties', params: { setpoint: 21 } })
    expect(topic).toMatch(/^v1\/devices\/me\/rpc\/request\/\d+$/)
    await publish(topic.replace('request', 'response'), answer)
    expect(await outcome).toEqual([{ propId: 0x2000, ...(result as object) }])
  })

  test('attributes are sent, and the write is answered as if the caller did not wait', async () => {
    await publish('v1/devices/me/attributes', { interval: 60 })
    await subscribe('v1/devices/me/attributes')
    const { outcome } = await write('attributes', { interval: 30 })
    expect(lastPublish()).toEqual(['v1/devices/me/attributes', { interval: 30 }])
    expect(await outcome).toEqual([{ propId: 0x2000, status: 'SENT' }])
  })

  test('a device that does not subscribe refuses', async () => {
    await telemetry({ setpoint: 20 })
    const { outcome } = await write('telemetry', { setpoint: 21 })
    expect(await outcome).toMatchObject([{ status: 'REJECTED', message: expect.stringContaining('rpc/request') }])
  })

  test('a gateway gets the writes of its devices, under the names that it uses', async () => {
    const gateway = await fixture.connected({ username: '*', clientId: 'gateway' }, 4)
    await publish('v1/gateway/telemetry', { 'tb-7': [{ ts: 1_000, values: { setpoint: 20 } }] }, gateway)
    await publish('v1/gateway/attributes', { 'tb-7': { interval: 60 } }, gateway)
    for (const topic of ['v1/gateway/rpc', 'v1/gateway/attributes']) await subscribe(topic, gateway)
    const { outcome } = await write('telemetry', { setpoint: 21 }, 'TB-7')
    const [, { device: name, data }] = lastPublish(gateway)
    expect([name, data]).toEqual([
      'tb-7',
      { id: expect.any(Number), method: 'setProperties', params: { setpoint: 21 } },
    ])
    await publish('v1/gateway/rpc', { device: name, id: data.id, data: { success: true } }, gateway)
    expect(await outcome).toEqual([{ propId: 0x2000, status: 'OK' }])
    await write('attributes', { interval: 30 }, 'TB-7')
    expect(lastPublish(gateway)).toEqual(['v1/gateway/attributes', { device: 'tb-7', data: { interval: 30 } }])
  })
})

test.each<[string, object, object]>([
  ['some', { clientKeys: 'a,b', sharedKeys: 'b,x' }, { client: { a: 1, b: 'two' }, shared: { b: 'two' } }],
  ['of one kind', { sharedKeys: 'a' }, { shared: { a: 1 } }],
  ['all', {}, { client: { a: 1, b: 'two' }, shared: { a: 1, b: 'two' } }],
])('a device reads its attributes: %s', async (_, request, expected) => {
  await publish('v1/devices/me/attributes', { a: 1, b: 'two' })
  await subscribe('v1/devices/me/attributes/response/+')
  await publish('v1/devices/me/attributes/request/7', request)
  expect(lastPublish()).toEqual(['v1/devices/me/attributes/response/7', expected])
})

describe('a gateway', () => {
  let gateway: TestClient
  beforeEach(async () => {
    gateway = await fixture.connected({ username: '*', clientId: 'gateway' }, 4)
  })

  test('connects its devices, reports for them, and disconnects them', async () => {
    await publish('v1/gateway/connect', { device: 'TB-7' }, gateway)
    expect(stateOf('TB-7')?.status).toBe('online')
    await publish('v1/gateway/telemetry', { 'TB-7': [{ a: 1 }], 'TB-8': [{ ts: 1_000, values: { a: 2 } }] }, gateway)
    expect([valuesOf('telemetry', 'TB-7'), valuesOf('telemetry', 'TB-8')]).toEqual([
      { '0x2000 float64': 1 },
      { '0x2000 float64': 2 },
    ])
    await publish('v1/gateway/disconnect', { device: 'TB-7' }, gateway)
    await fixture.world.settle()
    expect([stateOf('TB-7')?.status, stateOf('TB-8')?.status]).toEqual(['offline', 'online'])
  })

  test('reads attributes of its devices', async () => {
    await publish('v1/gateway/attributes', { 'TB-7': { a: 1, b: 2 } }, gateway)
    await subscribe('v1/gateway/attributes/response', gateway)
    await publish('v1/gateway/attributes/request', { id: 1, device: 'TB-7', client: true, key: 'a' }, gateway)
    expect(lastPublish(gateway)[1]).toEqual({ id: 1, device: 'TB-7', value: 1 })
    await publish('v1/gateway/attributes/request', { id: 2, device: 'TB-7', client: true, keys: ['a', 'b'] }, gateway)
    expect(lastPublish(gateway)[1]).toEqual({ id: 2, device: 'TB-7', values: { a: 1, b: 2 } })
  })

  test.each<[string, string, unknown]>([
    ['a name that is not an identifier', 'connect', { device: 'no identifier' }],
    ['no name', 'connect', {}],
    ['a list', 'telemetry', []],
    ['values that are not an object', 'attributes', { 'TB-7': 1 }],
    ['another topic', 'claim', {}],
    ['300 devices', 'attributes', Object.fromEntries(Array.from({ length: 300 }, (_, place) => [`D${place}`, {}]))],
  ])('is refused: %s', async (_, topic, payload) => {
    expect(await publish(`v1/gateway/${topic}`, payload, gateway)).toEqual(expect.any(String))
    expect(gateway.isClosed).toBe(false)
  })

  test('a device that is refused does not keep the others from being stored', async () => {
    expect(await publish('v1/gateway/attributes', { 'no identifier': { a: 1 }, 'TB-8': { a: 2 } }, gateway)).toMatch(
      /identifier/,
    )
    expect(valuesOf('attributes', 'TB-8')).toEqual({ '0x2000 float64': 2 })
  })
})

test('QoS 2: the same identifier is one message', async () => {
  const head = fixture.assembly.context.system.registry.head('default')
  const offsets: number[] = []
  for (const dup of [false, true, false]) {
    device.publish('v1/devices/me/telemetry', '{"a":1}', { qos: 2, messageId: 7, dup })
    await device.settle()
    offsets.push(head.released)
  }
  expect(new Set(offsets).size).toBe(1)
  device.transmit({ cmd: 'pubrel', messageId: 7 })
  await telemetry({ a: 1 })
  expect(head.released).toBe(Number(offsets[0]) + 1)
})

test('a will is published as a message of the device, which then is offline', async () => {
  const will = { topic: 'v1/devices/me/telemetry', payload: '{"alive":false}', qos: 1, retain: false }
  const client = await fixture.connected({ username: 'TB-2', clientId: 'other', will }, 4)
  await telemetry({ alive: true }, client)
  client.cut()
  await client.settle()
  expect(valuesOf('telemetry', 'TB-2')).toEqual({ '0x2000 bool': false })
  expect(stateOf('TB-2')?.status).toBe('offline')
})

test.each([
  ['v1/devices/me/claim', 0x90],
  ['v1/devices/me/rpc/request/1', 0x90],
  ['v1/devices/me/attributes/request/1/2', 0x90],
])('in 5.0 other topics are refused: %s', async (topic, reason) => {
  const client = await fixture.connected({ username: 'TB-1', clientId: 'five' })
  client.publish(topic, '{}', { qos: 1, messageId: 1 })
  await client.settle()
  expect(client.take('puback').reasonCode).toBe(reason)
})
