import { pack, unpack } from 'msgpackr'
import { beforeEach, describe, expect, test } from 'vitest'
import { MqttFixture, type TestClient } from '#test/mqtt/mqtt-fixture'

let fixture: MqttFixture
beforeEach(async () => {
  fixture = await MqttFixture.open()
})

const services = [
  {
    serviceIdentifier: 'svc',
    properties: [
      { propId: 1, type: 'UINT8' },
      { propId: 2, type: 'STRING' },
    ],
  },
]
const hello = { type: 'HELLO', deviceIdentifier: 'PUMP-1', session: 'boot-1', services }
const stateOf = () => fixture.device('PUMP-1')
const readValue = () => stateOf()?.services[0]?.stateOf(0)

/** A client whose device has sent HELLO, and the device's address. */
async function greeted(version: 4 | 5 = 5, connect = {}): Promise<{ client: TestClient; flakeAddress: number }> {
  const client = await fixture.connected(connect, version)
  client.report(hello, { qos: 1, messageId: 1 })
  await client.settle()
  const welcome = JSON.parse(String(client.take('publish').payload))
  return { client, flakeAddress: welcome.flakeAddress }
}

const update = (flakeAddress: number, value: unknown, seq?: number) => ({
  type: 'UPDATE',
  flakeAddress,
  ...(seq !== undefined && { seq }),
  serviceIdentifier: 'svc',
  updates: [{ propId: 1, value }],
})

describe.each([4, 5] as const)('version %s', (version) => {
  test('HELLO is answered by WELCOME on v1/link/down, and PUBACK follows it', async () => {
    const { client } = await greeted(version)
    expect(client.lines).toEqual(['publish v1/link/down WELCOME 0', 'puback 1'])
    expect(stateOf()?.status).toBe('online')
  })

  test('a report of each quality is stored; its acknowledgement replaces ACK', async () => {
    const { client, flakeAddress } = await greeted(version)
    client.received.length = 0
    client.report(update(flakeAddress, 1, 1))
    await client.settle()
    expect([readValue(), client.lines]).toEqual([1, []])
    client.report(update(flakeAddress, 2, 2), { qos: 1, messageId: 2 })
    await client.settle()
    client.report(['U', flakeAddress, 3, 0, [1, 3]], { qos: 2, messageId: 3 })
    await client.settle()
    client.transmit({ cmd: 'pubrel', messageId: 3 })
    await client.settle()
    expect([readValue(), client.lines]).toEqual([3, ['puback 2', 'pubrec 3', 'pubcomp 3']])
  })

  test('PUBACK is sent after the commit, and never if the commit fails', async () => {
    const { client, flakeAddress } = await greeted(version)
    client.received.length = 0
    client.report(update(flakeAddress, 7, 1), { qos: 1, messageId: 2 })
    expect(client.lines).toEqual([])
    fixture.faults.next = { fail: 'io', reachedDisk: false }
    await client.settle()
    expect(client.lines.filter((line) => line.startsWith('puback'))).toEqual([])
    expect(client.isClosed).toBe(true)
  })

  test('QoS 2: the same identifier is one message until PUBREL, with or without DUP', async () => {
    const { client, flakeAddress } = await greeted(version)
    client.received.length = 0
    for (const dup of [false, true, false]) {
      client.report(update(flakeAddress, 5), { qos: 2, messageId: 9, dup })
      await client.settle()
    }
    expect(stateOf()?.seq).toBe(1)
    client.transmit({ cmd: 'pubrel', messageId: 9 })
    client.report(update(flakeAddress, 5), { qos: 2, messageId: 9 })
    await client.settle()
    expect(stateOf()?.seq).toBe(2)
    expect(client.lines).toEqual(['pubrec 9', 'pubrec 9', 'pubrec 9', 'pubcomp 9', 'pubrec 9'])
  })

  test('QoS 1: after PUBACK the same identifier is another message, with or without DUP', async () => {
    const { client, flakeAddress } = await greeted(version)
    for (const dup of [false, true]) {
      client.report(update(flakeAddress, 5), { qos: 1, messageId: 9, dup })
      await client.settle()
    }
    expect(stateOf()?.seq).toBe(2)
  })
})

test('a report without seq continues the numbering of the session, also on the next connection', async () => {
  const { client, flakeAddress } = await greeted()
  for (const value of [1, 2, 3]) client.report(update(flakeAddress, value), { qos: 1, messageId: value })
  await client.settle()
  client.cut()
  const next = await greeted(4)
  next.client.report(update(flakeAddress, 4), { qos: 1, messageId: 1 })
  await next.client.settle()
  expect([stateOf()?.seq, readValue()]).toEqual([4, 4])
})

test.each([
  ['a text that is not JSON', '{', 'BAD_MESSAGE'],
  ['an unknown device', JSON.stringify(update(4_000_000_000, 1, 1)), 'UNKNOWN_DEVICE'],
  ['an unknown device, without seq', JSON.stringify(update(4_000_000_000, 1)), 'UNKNOWN_DEVICE'],
])('a refusal is a reason of PUBACK, and an ERROR: %s', async (_, payload, code) => {
  const { client } = await greeted()
  client.received.length = 0
  client.publish('v1/link', payload, { qos: 1, messageId: 5 })
  await client.settle()
  const [error, puback] = client.lines
  expect(error).toMatch(new RegExp(`^publish v1/link/down ERROR ${code}`))
  expect(puback).toBe('puback 5 0x99')
  expect(client.take('puback').properties).toMatchObject({ reasonString: expect.stringMatching(/./) })
})

test('in 3.1.1 the reason of a refusal is published on v1/errors', async () => {
  const { client, flakeAddress } = await greeted(4)
  client.received.length = 0
  client.report(update(flakeAddress, 'text', 1), { qos: 1, messageId: 5 })
  await client.settle()
  expect(client.lines.map((line) => line.split(' ').slice(0, 2).join(' '))).toEqual([
    'publish v1/link/down',
    'publish v1/errors',
    'puback 5',
  ])
})

test('in 5.0 a refused message of QoS 2 frees its identifier', async () => {
  const { client, flakeAddress } = await greeted()
  client.received.length = 0
  client.report(update(flakeAddress, 'text'), { qos: 2, messageId: 5 })
  await client.settle()
  client.report(update(flakeAddress, 7), { qos: 2, messageId: 5 })
  await client.settle()
  expect(client.lines.filter((line) => line.startsWith('pubrec'))).toEqual(['pubrec 5 0x99', 'pubrec 5'])
  expect(readValue()).toBe(7)
})

test('a refused HELLO is not the answer to the report before it', async () => {
  const { client, flakeAddress } = await greeted()
  const declared = (round: number) => ({
    ...hello,
    services: Array.from({ length: 64 }, (_, number) => ({ ...services[0], serviceIdentifier: `s${round}-${number}` })),
  })
  const several = [0, 1, 2].map(declared)
  for (const [place, each] of several.entries()) {
    client.report({ ...each, services: [...services, ...each.services.slice(1)] }, { qos: 1, messageId: 10 + place })
    await client.settle()
  }
  client.received.length = 0
  client.report(update(flakeAddress, 7), { qos: 2, messageId: 20 })
  client.report(declared(3), { qos: 1, messageId: 21 })
  client.report(declared(4), { qos: 1, messageId: 22 })
  await client.settle()
  const answers = client.lines.filter((line) => line.startsWith('pub') && !line.startsWith('publish'))
  expect(answers).toEqual(['pubrec 20', 'puback 21', 'puback 22 0x97'])
})

test('msgpack is answered in msgpack', async () => {
  const client = await fixture.connected()
  const last = () => unpack(client.take('publish').payload as Buffer)
  client.publish('v1/link', Buffer.from(pack(hello)), { qos: 1, messageId: 1 })
  await client.settle()
  expect(last()).toMatchObject({ type: 'WELCOME', deviceIdentifier: 'PUMP-1' })
  client.publish('v1/link', Buffer.of(0), { qos: 1, messageId: 2 })
  await client.settle()
  expect([last().code, client.take('puback').reasonCode]).toEqual(['BAD_MESSAGE', 0x99])
})

test('a broken connection makes the device offline; its will is published before', async () => {
  const { flakeAddress } = await greeted()
  const payload = JSON.stringify(update(flakeAddress, 9, 50))
  const { client } = await greeted(5, { clientId: 'another', will: { topic: 'v1/link', payload, qos: 1 } })
  client.cut()
  await client.settle()
  expect(readValue()).toBe(9)
  expect(stateOf()?.status).toBe('offline')
})

test('DISCONNECT deletes the will', async () => {
  const { flakeAddress } = await greeted()
  const payload = JSON.stringify(update(flakeAddress, 9, 50))
  const { client } = await greeted(5, { clientId: 'another', will: { topic: 'v1/link', payload, qos: 1 } })
  client.transmit({ cmd: 'disconnect' })
  await client.settle()
  expect(readValue() ?? null).toBeNull()
})

test('a write reaches the device on v1/link/down, and RESULT answers it', async () => {
  const { client, flakeAddress } = await greeted()
  const { writes } = fixture.assembly.context.devices.links
  const request = { tenant: 'default', device: 'PUMP-1', service: 'svc', schema: undefined, id: 'w1' }
  const outcome = writes.ask({ ...request, values: { '1': 5 }, isWaiting: true, isRepeated: false })
  await client.settle()
  const write = JSON.parse(String(client.take('publish').payload))
  expect(write).toMatchObject({ type: 'WRITE', flakeAddress, updates: [{ propId: 1, value: 5 }] })
  client.report({ type: 'RESULT', flakeAddress, id: write.id, results: [{ propId: 1, status: 'OK' }] })
  await client.settle()
  expect(await outcome).toMatchObject({ updates: [{ propId: 1, status: 'OK' }] })
})

test('a quiet device stays online as long as its keep alive allows', async () => {
  const { client } = await greeted(5, { keepalive: 600 })
  await fixture.world.advance(899_000)
  expect([client.isClosed, stateOf()?.status]).toEqual([false, 'online'])
  await fixture.world.advance(2_000)
  expect([client.isClosed, client.take('disconnect').reasonCode]).toEqual([true, 0x8d])
  expect(stateOf()?.status).toBe('offline')
})

test('messages above the window wait: nothing is lost, and reading stops meanwhile', async () => {
  const { client, flakeAddress } = await greeted(4)
  client.received.length = 0
  for (let id = 1; id <= 2_000; id++) client.report(update(flakeAddress, id % 256), { qos: 1, messageId: id })
  expect(client.isPaused).toBe(true)
  await client.settle()
  expect([client.isPaused, client.lines.length, stateOf()?.seq]).toEqual([false, 2_000, 2_000])
})
