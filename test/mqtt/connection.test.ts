import { beforeEach, describe, expect, test } from 'vitest'
import { MqttFixture } from '#test/mqtt/mqtt-fixture'

let fixture: MqttFixture
beforeEach(async () => {
  fixture = await MqttFixture.open()
})

describe('CONNACK', () => {
  test('contains the limits of the server in 5.0', async () => {
    const connack = await fixture.client().connect()
    expect(connack).toMatchObject({ reasonCode: 0, sessionPresent: false })
    expect(connack.properties).toMatchObject({
      receiveMaximum: 1_024,
      maximumPacketSize: 262_144,
      topicAliasMaximum: 64,
      sharedSubscriptionAvailable: false,
    })
  })

  test('has only a return code in 3.1.1', async () => {
    expect(await fixture.client(4).connect()).toMatchObject({ returnCode: 0, sessionPresent: false })
  })

  test('an empty client identifier gets one in 5.0, and needs a clean session in 3.1.1', async () => {
    const connack = await fixture.client().connect({ clientId: '' })
    expect(connack.properties).toMatchObject({ assignedClientIdentifier: expect.stringMatching(/^[0-9a-f]{24}$/) })
    expect((await fixture.client(4).connect({ clientId: '' })).returnCode).toBe(0)
    const refused = fixture.client(4)
    refused.raw(Buffer.from([0x10, 12, 0, 4, ...Buffer.from('MQTT'), 4, 0, 0, 60, 0, 0]))
    expect([refused.take('connack').returnCode, refused.isClosed]).toEqual([2, true])
  })

  test('another version is refused in a form that its client can read', async () => {
    const old = fixture.client(4)
    old.raw(Buffer.from([0x10, 12, 0, 6, ...Buffer.from('MQIsdp'), 3, 2, 0, 60]))
    expect([old.take('connack').returnCode, old.isClosed]).toEqual([1, true])
    const next = fixture.client(5)
    next.raw(Buffer.from([0x10, 10, 0, 4, ...Buffer.from('MQTT'), 6, 2, 0, 60]))
    expect([next.take('connack').reasonCode, next.isClosed]).toEqual([0x84, true])
  })

  test('a server that cannot store, or stops, refuses every CONNECT', async () => {
    fixture.isWritable = false
    expect((await fixture.client().connect()).reasonCode).toBe(0x88)
    expect((await fixture.client(4).connect()).returnCode).toBe(3)
    fixture.isWritable = true
    const client = await fixture.connected()
    const waiting = fixture.client()
    const stopped = fixture.connections.stop()
    await client.settle()
    await stopped
    expect(client.take('disconnect').reasonCode).toBe(0x8b)
    expect([client.isClosed, waiting.isClosed, fixture.client().isClosed]).toEqual([true, true, true])
    expect(fixture.connections.size).toBe(0)
  })
})

test('the same client identifier takes over', async () => {
  const first = await fixture.connected({ clientId: 'x' })
  const other = await fixture.connected({ clientId: 'y' })
  const second = await fixture.connected({ clientId: 'x' }, 4)
  expect([first.isClosed, first.take('disconnect').reasonCode]).toEqual([true, 0x8e])
  const third = await fixture.connected({ clientId: 'x' }, 4)
  expect([second.isClosed, second.lines]).toEqual([true, []])
  expect([other.isClosed, third.isClosed]).toEqual([false, false])
})

describe('time', () => {
  test('a client has 10 s for CONNECT', async () => {
    const client = fixture.client()
    await fixture.world.advance(9_000)
    expect(client.isClosed).toBe(false)
    await fixture.world.advance(2_000)
    expect([client.isClosed, client.received]).toEqual([true, []])
  })

  test('1.5 × keep alive without a packet ends the connection; any packet is a sign of life', async () => {
    const client = await fixture.connected({ keepalive: 10 })
    for (let turn = 0; turn < 3; turn++) {
      await fixture.world.advance(14_000)
      client.transmit({ cmd: 'pingreq' })
    }
    expect(client.lines).toEqual(['pingresp', 'pingresp', 'pingresp'])
    await fixture.world.advance(16_000)
    expect([client.isClosed, client.take('disconnect').reasonCode]).toEqual([true, 0x8d])
  })

  test('keep alive 0 is no limit', async () => {
    const client = await fixture.connected({ keepalive: 0 })
    await fixture.world.advance(3_600_000)
    expect(client.isClosed).toBe(false)
  })
})

describe('topics', () => {
  test('a topic that this server does not have is refused, and the connection stays', async () => {
    const client = await fixture.connected()
    client.publish('a/b', 'x', { qos: 1, messageId: 1 })
    client.publish('a/b', 'x', { qos: 2, messageId: 2 })
    expect(client.lines).toEqual(['puback 1 0x90', 'pubrec 2 0x90'])
    const old = await fixture.connected({ clientId: 'old' }, 4)
    old.publish('a/b', 'x', { qos: 1, messageId: 1 })
    expect(old.lines).toEqual([expect.stringMatching(/^publish v1\/errors/), 'puback 1'])
    expect(JSON.parse(String(old.take('publish').payload))).toEqual({
      topic: 'a/b',
      message: 'a/b is not a topic of this server',
    })
  })

  test('SUBSCRIBE grants v1/link/down and v1/errors with QoS 0; others are refused', async () => {
    const topics = ['v1/link/down', 'v1/errors', 'a/+/b', '#', 'a#']
    const subscribe = {
      cmd: 'subscribe',
      messageId: 3,
      subscriptions: topics.map((topic) => ({ topic, qos: 2, nl: false, rap: false, rh: 0 })),
    }
    const client = await fixture.connected()
    client.transmit(subscribe)
    expect(client.take('suback').granted).toEqual([0, 0, 0x8f, 0x8f, 0x8f])
    client.transmit({ cmd: 'unsubscribe', messageId: 4, unsubscriptions: ['v1/errors', 'a'] })
    expect(client.take('unsuback').granted).toEqual([0, 0x11])
    const old = await fixture.connected({ clientId: 'old' }, 4)
    old.transmit(subscribe)
    expect(old.take('suback').granted).toEqual([0, 0, 0x80, 0x80, 0x80])
  })

  test('an alias names a topic of this connection', async () => {
    const client = await fixture.connected()
    client.publish('a/b', 'x', { qos: 1, messageId: 1, properties: { topicAlias: 64 } })
    client.publish('', 'x', { qos: 1, messageId: 2, properties: { topicAlias: 64 } })
    expect(client.lines).toEqual(['puback 1 0x90', 'puback 2 0x90'])
    client.publish('', 'x', { qos: 1, messageId: 3, properties: { topicAlias: 1 } })
    await client.settle()
    expect([client.take('disconnect').reasonCode, client.isClosed]).toEqual([0x82, true])
  })
})

test('a packet that is larger than the client accepts is not sent', async () => {
  const client = await fixture.connected({ properties: { maximumPacketSize: 60 } })
  client.publish('a/b', 'x', { qos: 1, messageId: 1 })
  client.transmit({ cmd: 'pingreq' })
  expect(client.lines).toEqual(['puback 1 0x90', 'pingresp'])
})

test('a client that does not read is disconnected', async () => {
  const client = await fixture.connected()
  client.unsent = 2 ** 21
  client.transmit({ cmd: 'pingreq' })
  await client.settle()
  expect([client.isClosed, client.take('disconnect').reasonCode]).toEqual([true, 0x97])
})
