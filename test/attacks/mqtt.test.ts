import { beforeEach, expect, test } from 'vitest'
import { topicLevelsMax } from '#mqtt/topic'
import { MqttFixture, type TestClient } from '#test/mqtt/mqtt-fixture'

/** Each hostile client is closed or refused, and a witness, another client, is not disturbed. */

let fixture: MqttFixture
let witness: TestClient
beforeEach(async () => {
  fixture = await MqttFixture.open()
  witness = await fixture.connected({ clientId: 'witness' })
})

async function expectWitness(): Promise<void> {
  witness.transmit({ cmd: 'pingreq' })
  await witness.settle()
  expect([witness.isClosed, witness.lines.at(-1), fixture.bugs]).toEqual([false, 'pingresp', []])
}

test.each<[string, readonly number[]]>([
  ['a PUBLISH', [0x30, 4, 0, 1, 97, 98]],
  ['a PINGREQ', [0xc0, 0]],
  ['packet type 0', [0, 0]],
  ['the request line of HTTP', [...Buffer.from(`GET / HTTP/1.1\r\nHost: ${'a'.repeat(80)}\r\n\r\n`)]],
  ['a remaining length of five bytes', [0x10, 0xff, 0xff, 0xff, 0xff, 0x01]],
  ['a CONNECT of 4 KiB and more', [0x10, 0x80, 0x20]],
  ['the head of a packet of 256 MiB', [0x10, 0xff, 0xff, 0xff, 0x7f]],
])('without a CONNECT before, %s closes the connection without an answer', async (_, bytes) => {
  const client = fixture.client()
  client.raw(Buffer.from(bytes))
  await client.settle()
  expect([client.isClosed, client.received]).toEqual([true, []])
  await expectWitness()
})

test.each<[string, readonly number[], number]>([
  ['a second CONNECT', [0x10, 13, 0, 4, ...Buffer.from('MQTT'), 5, 2, 0, 0, 0, 0, 0], 0x82],
  ['CONNACK', [0x20, 2, 0, 0], 0x82],
  ['SUBACK', [0x90, 3, 0, 1, 0], 0x82],
  ['AUTH', [0xf0, 0], 0x82],
  ['packet type 0', [0, 0], 0x82],
  ['a PINGREQ with flags', [0xc1, 0], 0x81],
  ['a PINGREQ with bytes', [0xc0, 1, 0], 0x81],
  ['a PUBREL without its flags', [0x60, 2, 0, 1], 0x81],
  ['a PUBACK with flags', [0x42, 2, 0, 1], 0x81],
  ['packet identifier 0', [0x32, 7, 0, 1, 97, 0, 0, 0, 1], 0x82],
  ['a topic with +', [0x30, 6, 0, 3, 97, 47, 43, 0], 0x90],
  ['a topic with #', [0x30, 4, 0, 1, 35, 0], 0x90],
  ['no topic', [0x30, 3, 0, 0, 0], 0x90],
  ['U+0000 in a topic', [0x30, 4, 0, 1, 0, 0], 0x81],
  ['half a character in a topic', [0x30, 4, 0, 1, 0xc3, 0], 0x81],
  ['topic alias 0', [0x30, 7, 0, 1, 97, 3, 0x23, 0, 0], 0x94],
  ['topic alias 65', [0x30, 7, 0, 1, 97, 3, 0x23, 0, 65], 0x94],
  ['an unknown topic alias without a topic', [0x30, 6, 0, 0, 3, 0x23, 0, 1], 0x82],
  ['the head of a packet of 256 KiB and a byte', [0x30, 0xfe, 0xff, 0x0f], 0x95],
  ['a SUBSCRIBE of 200 KiB', [0x82, 0xc0, 0x9a, 0x0c, ...Array<number>(200_000).fill(0)], 0x95],
])('%s is answered with DISCONNECT', async (_, bytes, reason) => {
  const client = await fixture.connected({ clientId: 'hostile' })
  client.raw(Buffer.from(bytes))
  await client.settle()
  expect([client.isClosed, client.take('disconnect').reasonCode]).toEqual([true, reason])
  await expectWitness()
})

test('filters that have a thousand levels or are too long are refused one by one', async () => {
  const client = await fixture.connected()
  const filters = ['a/'.repeat(1_000), '+/'.repeat(topicLevelsMax), 'a'.repeat(1_025), '/#/', 'v1/link/down']
  const subscriptions = filters.map((topic) => ({ topic, qos: 0, nl: false, rap: false, rh: 0 }))
  client.transmit({ cmd: 'subscribe', messageId: 1, subscriptions })
  expect(client.take('suback').granted).toEqual([0x8f, 0x8f, 0x8f, 0x8f, 0])
  await expectWitness()
})

test('a thousand clients that never complete a CONNECT are closed within 11 s', async () => {
  const silent = Array.from({ length: 1_000 }, () => fixture.client())
  for (const client of silent) client.raw(Buffer.from([0x10, 0x7f, 0]))
  await fixture.world.advance(11_000)
  expect(silent.every(({ isClosed }) => isClosed)).toBe(true)
  expect(fixture.connections.size).toBe(1)
  await expectWitness()
})

test('a client of MQTT 5.0 that sends QoS 2 without PUBREL is closed at the receive maximum', async () => {
  const client = await fixture.connected({ clientId: 'hostile' })
  for (let id = 1; id <= 1_100 && !client.isClosed; id++) {
    client.report({ type: 'HELLO', deviceIdentifier: 'A', services: [] }, { qos: 2, messageId: id })
    if (id % 100 === 0) await client.settle()
  }
  expect([client.isClosed, client.take('disconnect').reasonCode]).toEqual([true, 0x93])
  await expectWitness()
})

test('packets of one client are handled for at most 8 ms at a time, so that other clients stay connected', async () => {
  const { world } = fixture
  const hostile = await fixture.connected({ clientId: 'hostile' })
  const other = await fixture.connected({ clientId: 'other', keepalive: 1 })
  const answers = () => hostile.received.filter(({ cmd }) => cmd === 'pingresp').length
  const before = world.monotonic()
  hostile.onSent = () => world.spend(1)
  hostile.raw(Buffer.alloc(2 * 5_000, Buffer.of(0xc0, 0)))
  expect([answers(), hostile.isPaused]).toEqual([8, true])
  other.transmit({ cmd: 'pingreq' })
  for (let cycle = 0; other.lines.at(-1) !== 'pingresp'; cycle++) {
    expect(cycle).toBeLessThan(10)
    world.step()
  }
  expect(answers()).toBeLessThan(30)
  await hostile.settle()
  expect([answers(), hostile.isPaused, other.isClosed]).toEqual([5_000, false, false])
  expect(world.monotonic() - before).toBeGreaterThanOrEqual(5_000)
})

test.each([
  [20, 20],
  [400, 50],
])('after a packet that took %i ms, the next one waits %i ms', async (tookMs, waitsMs) => {
  const { world } = fixture
  const hostile = await fixture.connected({ clientId: 'hostile', keepalive: 0 })
  hostile.received.length = 0
  hostile.onSent = () => world.spend(tookMs)
  hostile.raw(Buffer.alloc(2 * 4, Buffer.of(0xc0, 0)))
  await hostile.settle()
  expect(hostile.lines).toHaveLength(2)
  hostile.onSent = () => {}
  await world.advance(waitsMs - 1)
  expect(hostile.lines).toHaveLength(2)
  await world.advance(1)
  expect(hostile.lines).toHaveLength(4)
})

test('a client that continues to send while it has to wait is closed', async () => {
  const hostile = await fixture.connected({ clientId: 'hostile' })
  hostile.onSent = () => fixture.world.spend(20)
  for (let count = 0; count < 15_000 && !hostile.isClosed; count++) hostile.raw(Buffer.of(0xc0, 0))
  await hostile.settle()
  expect([hostile.isClosed, hostile.take('disconnect').reasonCode]).toEqual([true, 0x93])
  await expectWitness()
})
