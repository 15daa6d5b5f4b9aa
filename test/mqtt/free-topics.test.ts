import { beforeEach, describe, expect, test } from 'vitest'
import type { Client } from '#mqtt/client'
import { FreeTopics } from '#mqtt/free-topics'
import { bytesOf } from '#mqtt/outgoing-messages'
import { MqttFixture, type TestClient } from '#test/mqtt/mqtt-fixture'

/** Topics outside `v1/`: an ordinary broker. */

let fixture: MqttFixture
let publisher: TestClient
let subscriber: TestClient
beforeEach(async () => {
  fixture = await MqttFixture.open(undefined, true)
  publisher = await fixture.connected({ clientId: 'publisher' })
  subscriber = await fixture.connected({ clientId: 'subscriber' })
})

const persistent = { clientId: 'persistent', clean: false, properties: { sessionExpiryInterval: 60 } }

const subscribe = (topic: string, more: object = {}, client = subscriber) => client.subscribe(topic, more)

let ids = 0
async function publish(topic: string, payload: string, more: object = {}, client = publisher): Promise<void> {
  const { qos = 0 } = more as { qos?: number }
  client.publish(topic, payload, { qos, ...(qos > 0 && { messageId: ++ids }), ...more })
  await client.settle()
}

const messages = (client = subscriber) =>
  client.received
    .filter(({ cmd }) => cmd === 'publish')
    .map(({ topic, payload, qos, retain, dup }) =>
      [`${topic} ${payload}`, qos && `QoS ${qos}`, retain && 'retained', dup && 'again'].filter(Boolean).join(' '),
    )

test.each([
  ['a/b', 0, 2, 'a/b x'],
  ['a/+', 1, 2, 'a/b x QoS 1'],
  ['#', 2, 1, 'a/b x QoS 1'],
  ['+/b', 2, 2, 'a/b x QoS 2'],
])('a message to %s has the lower QoS of both: %s and %s', async (filter, granted, qos, expected) => {
  expect(await subscribe(filter, { qos: granted })).toBe(granted)
  await publish('a/b', 'x', { qos })
  expect(messages()).toEqual([expected])
})

test('QoS 2 to a client: PUBREC is answered by PUBREL, and PUBCOMP ends it', async () => {
  await subscribe('a', { qos: 2 })
  await publish('a', 'x', { qos: 2 })
  const { messageId } = subscriber.take('publish')
  subscriber.received.length = 0
  subscriber.transmit({ cmd: 'pubrec', messageId })
  subscriber.transmit({ cmd: 'pubcomp', messageId })
  subscriber.transmit({ cmd: 'pubrec', messageId })
  expect(subscriber.lines).toEqual([`pubrel ${messageId}`, `pubrel ${messageId} 0x92`])
})

test('QoS 2 from a client: one identifier is one message until PUBREL', async () => {
  await subscribe('a')
  for (const dup of [false, true]) await publish('a', 'x', { qos: 2, messageId: 7, dup })
  publisher.transmit({ cmd: 'pubrel', messageId: 7 })
  await publish('a', 'y', { qos: 2, messageId: 7 })
  expect(messages()).toEqual(['a x', 'a y'])
})

describe('retained messages', () => {
  test('are sent to new subscriptions; an empty one deletes', async () => {
    await publish('a/b', 'x', { retain: true })
    await publish('a/c', 'y', { retain: true })
    await publish('a/c', '', { retain: true })
    await subscribe('a/#')
    expect(messages()).toEqual(['a/b x retained'])
    await publish('a/b', 'z', { retain: true })
    expect(messages().at(-1)).toBe('a/b z')
  })

  test.each([
    [0, 2],
    [1, 1],
    [2, 0],
  ])('retain handling %s sends them %s times to a repeated subscription', async (rh, count) => {
    await publish('a', 'x', { retain: true })
    for (const _time of ['first', 'again']) await subscribe('a', { rh })
    expect(messages()).toHaveLength(count)
  })

  test('are at most 10 000 of a tenant', async () => {
    for (let place = 0; place < 10_000; place++) publisher.publish(`a/${place}`, 'x', { retain: true })
    await publish('b', 'x', { qos: 1, retain: true })
    expect(publisher.take('puback').reasonCode).toBe(0x97)
    await publish('a/1', 'y', { qos: 1, retain: true })
    expect(publisher.take('puback').reasonCode).toBe(0)
  })

  test('are gone on a node that is not the owner any more', async () => {
    await publish('a', '1', { retain: true })
    fixture.isWritable = false
    const changed = fixture.connections.ownerChanged()
    await publisher.settle()
    await changed
    expect([publisher.isClosed, subscriber.isClosed]).toEqual([true, true])
    fixture.isWritable = true
    const client = await fixture.connected({ clientId: 'later' })
    await subscribe('#', {}, client)
    expect(messages(client)).toEqual([])
  })

  test('expire', async () => {
    await publish('a', 'x', { retain: true, properties: { messageExpiryInterval: 10 } })
    await fixture.world.advance(4_000)
    await subscribe('a')
    expect(subscriber.take('publish').properties).toEqual({ messageExpiryInterval: 6 })
    await fixture.world.advance(7_000)
    await subscribe('a')
    expect(messages()).toHaveLength(1)
  })
})

test('properties are passed on, with the identifiers of all matching subscriptions', async () => {
  for (const [filter, subscriptionIdentifier] of [
    ['a', 1],
    ['+', 2],
  ] as const) {
    await subscribe(filter, { properties: { subscriptionIdentifier } })
  }
  const properties = { contentType: 'text/plain', responseTopic: 'b', userProperties: { k: 'v' } }
  await publish('a', 'x', { properties: { ...properties, topicAlias: 3 } })
  expect(messages()).toEqual(['a x'])
  expect(subscriber.take('publish').properties).toMatchObject({ ...properties, subscriptionIdentifier: [1, 2] })
})

test('no local: the sender does not receive its own message', async () => {
  await subscribe('a', { nl: true }, publisher)
  await subscribe('a')
  await publish('a', 'x')
  expect([messages(publisher), messages()]).toEqual([[], ['a x']])
})

test('members of a shared subscription take turns', async () => {
  const other = await fixture.connected({ clientId: 'other' })
  for (const client of [subscriber, other]) await subscribe('$share/group/a/#', {}, client)
  for (const payload of ['1', '2', '3', '4']) await publish('a/b', payload)
  expect([messages().length, messages(other).length]).toEqual([2, 2])
  other.cut()
  await publish('a/b', '5')
  expect(messages().at(-1)).toBe('a/b 5')
})

describe('a client that does not acknowledge', () => {
  const large = 'x'.repeat(200_000)
  const count = (client: TestClient) => client.received.filter(({ cmd }) => cmd === 'publish').length

  test('gets a megabyte, and more with each acknowledgement', async () => {
    await subscribe('a', { qos: 1 })
    for (let sent = 0; sent < 12; sent++) await publish('a', large, { qos: 1 })
    expect(count(subscriber)).toBe(6)
    for (let messageId = 1; messageId <= 12; messageId++) subscriber.transmit({ cmd: 'puback', messageId })
    expect([count(subscriber), subscriber.isClosed]).toEqual([12, false])
  })

  test('and disconnects: all such sessions together keep at most 64 MiB of messages', async () => {
    const clients = []
    for (let number = 0; number < 16; number++) {
      const client = await fixture.connected({ ...persistent, clientId: `persistent ${number}` })
      await subscribe('a', { qos: 1 }, client)
      clients.push(client)
    }
    for (let sent = 0; sent < 25; sent++) await publish('a', large, { qos: 1 })
    for (const client of clients) client.cut()
    let kept = 0
    for (let number = 0; number < 16; number++) {
      const client = await fixture.connected({ ...persistent, clientId: `persistent ${number}` })
      for (let messageId = 1; messageId <= 25; messageId++) client.transmit({ cmd: 'puback', messageId })
      kept += count(client)
    }
    expect(kept).toBe(Math.floor((64 * 1024 * 1024) / 200_201))
    expect(fixture.bugs).toEqual([])
  })
})

describe('a persistent session', () => {
  test('gets what it missed, and again what it did not acknowledge', async () => {
    const first = await fixture.connected(persistent)
    await subscribe('a', { qos: 2 }, first)
    await publish('a', '1', { qos: 1 })
    await publish('a', '2', { qos: 2 })
    first.cut()
    await publish('a', '3', { qos: 1 })
    await publish('a', '4', { qos: 0 })
    const second = await fixture.connected(persistent)
    expect(messages(second)).toEqual(['a 1 QoS 1 again', 'a 2 QoS 2 again', 'a 3 QoS 1'])
  })

  test('after PUBREC only PUBREL is sent again', async () => {
    const first = await fixture.connected(persistent)
    await subscribe('a', { qos: 2 }, first)
    await publish('a', '1', { qos: 2 })
    const { messageId } = first.take('publish')
    first.transmit({ cmd: 'pubrec', messageId })
    first.cut()
    const second = await fixture.connected(persistent)
    expect(second.lines).toEqual([`pubrel ${messageId}`])
  })

  test('keeps its subscriptions over a restart, but no messages', async () => {
    const first = await fixture.connected(persistent)
    await subscribe('a', { qos: 1 }, first)
    await publish('a', '1', { qos: 1 })
    fixture = await fixture.restart()
    const second = await fixture.connected(persistent)
    publisher = await fixture.connected({ clientId: 'publisher' })
    await publish('a', '2', { qos: 1 })
    expect(messages(second)).toEqual(['a 2 QoS 1'])
  })

  test('ends with a clean start, and after its expiry', async () => {
    for (const end of [{ ...persistent, clean: true }, persistent]) {
      const first = await fixture.connected(persistent)
      await subscribe('a', { qos: 1 }, first)
      first.cut()
      await publish('a', '1', { qos: 1 })
      if (!end.clean) await fixture.world.advance(61_000)
      const second = await fixture.connected(end)
      expect(messages(second)).toEqual([])
      second.cut()
      publisher = await fixture.connected({ clientId: 'publisher' })
    }
  })
})

describe('a will', () => {
  const will = (properties?: object) => ({
    clientId: 'dying',
    clean: false,
    will: { topic: 'gone', payload: 'x', qos: 1, retain: true, ...(properties && { properties }) },
    properties: { sessionExpiryInterval: 60 },
  })

  test('is published with its QoS, and retained', async () => {
    await subscribe('gone', { qos: 2, rap: true })
    ;(await fixture.connected(will())).cut()
    await fixture.world.settle()
    expect(messages()).toEqual(['gone x QoS 1 retained'])
  })

  test.each<[string, (client: () => Promise<TestClient>) => Promise<unknown>, number]>([
    ['waits for its delay', async () => fixture.world.advance(9_000), 0],
    ['is published after its delay', async () => fixture.world.advance(11_000), 1],
    ['is not published if the client comes back', (again) => again().then(() => fixture.world.advance(11_000)), 0],
  ])('%s', async (_, act, count) => {
    await subscribe('gone')
    const connect = will({ willDelayInterval: 10 })
    ;(await fixture.connected(connect)).cut()
    await act(() => fixture.connected({ ...connect, will: undefined }))
    expect(messages()).toHaveLength(count)
  })

  test('is published at once if those that wait take too much memory', async () => {
    let received = 0
    const outgoing = { send: () => received++ }
    const clientOf = (number: number) =>
      ({
        principal: { tenant: 'default', link: { tenant: 'default' } },
        key: `client ${number}`,
        unsentBytes: () => 0,
        outgoing,
      }) as unknown as Client
    const free = new FreeTopics({ world: fixture.world, isOn: true, received: () => {} })
    free.subscribe(clientOf(0), { topic: 'gone', qos: 0, rh: 2 }, true)
    // A CONNECT has at most 4 KiB, but each property takes far more than its bytes.
    const userProperties = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [at.toString(36), '']))
    const gone = {
      topic: 'gone',
      payload: new Uint8Array(1),
      qos: 0,
      isRetained: false,
      properties: { userProperties },
    }
    for (let number = 1; number <= 1_400; number++) {
      free.publishWill(clientOf(number), { ...gone, qos: 0, delayMs: 10_000 })
    }
    const waiting = Math.floor((64 * 1024 * 1024) / bytesOf(gone))
    expect([waiting < 1_400, received]).toEqual([true, 1_400 - waiting])
    await fixture.world.advance(11_000)
    expect(received).toBe(1_400)
  })

  test('is published at once when another session begins', async () => {
    await subscribe('gone')
    const connect = will({ willDelayInterval: 10 })
    ;(await fixture.connected(connect)).cut()
    await fixture.connected({ clientId: 'dying', clean: true })
    expect(messages()).toHaveLength(1)
  })
})

test.each([
  ['$share/group', 0x8f],
  ['$share//a', 0x8f],
  ['$share/g+/a', 0x8f],
  ['$share/group/v1/events/#', 0x8f],
  ['$share/group/a/#/b', 0x8f],
  ['v1', 0x8f],
  ['$SYS/#', 0],
])('SUBSCRIBE to %s is answered by %s', async (filter, code) => {
  expect(await subscribe(filter)).toBe(code)
})

test.each([
  ['that make each message slow', '+/', 5],
  ['with many levels', '', 35],
])('filters %s are refused above a limit', async (_, begin, clients) => {
  const granted: number[] = []
  for (let place = 0; place < clients; place++) {
    const client = await fixture.connected({ clientId: `client ${place}` })
    const topics = Array.from({ length: 100 }, (_, number) => `${begin}${place}-${number}${'/a'.repeat(60)}`)
    const subscriptions = topics.map((topic) => ({ topic, qos: 0, nl: false, rap: false, rh: 0 }))
    client.transmit({ cmd: 'subscribe', messageId: 1, subscriptions })
    granted.push(...(client.take('suback').granted as number[]))
  }
  expect(new Set(granted)).toEqual(new Set([0, 0x97]))
  expect(await subscribe('a/b')).toBe(begin === '' ? 0x97 : 0)
})

test('a repeated subscription replaces the one whose retained messages wait', async () => {
  await publish('a/1', 'x', { retain: true })
  const subscriptions = [{ topic: 'a/1', qos: 0 }]
  for (const messageId of [1, 2, 3]) subscriber.transmit({ cmd: 'subscribe', messageId, subscriptions })
  await subscriber.settle()
  expect(messages()).toEqual(['a/1 x retained'])
})

test('retained messages are not sent after UNSUBSCRIBE', async () => {
  await publish('a/1', 'x', { retain: true })
  subscriber.transmit({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: 'a/1', qos: 0 }] })
  subscriber.transmit({ cmd: 'unsubscribe', messageId: 2, unsubscriptions: ['a/1'] })
  await subscriber.settle()
  expect(messages()).toEqual([])
})

test('one packet has at most a hundred subscriptions', async () => {
  const subscriptions = Array.from({ length: 101 }, () => ({ topic: 'a', qos: 0 }))
  subscriber.transmit({ cmd: 'subscribe', messageId: 1, subscriptions })
  await subscriber.settle()
  expect(subscriber.take('suback').granted).toEqual([...Array(100).fill(0), 0x97])
})

test('device data is never mixed with free topics', async () => {
  await subscribe('#')
  const device = await fixture.connected({ username: 'PUMP-1', clientId: 'device' })
  await publish('v1/devices/me/telemetry', '{"a":1}', {}, device)
  await publish('v1/other', 'x', { qos: 1 })
  expect([publisher.take('puback').reasonCode, messages()]).toEqual([0x90, []])
})

test.each([
  ['$SYS/a', 0x90, []],
  ['$share/a/b', 0x90, []],
  ['$other/a', 0, ['$other/a x']],
])('wildcards do not match a topic with $: %s', async (topic, reason, expected) => {
  for (const filter of ['#', '+/a', '$other/+']) await subscribe(filter)
  await publish(topic, 'x', { qos: 1 })
  expect([publisher.take('puback').reasonCode, messages()]).toEqual([reason, expected])
})

test('a client with topic aliases gets the name of a topic once', async () => {
  subscriber = await fixture.connected({ clientId: 'aliases', properties: { topicAliasMaximum: 1 } })
  await subscribe('#', { qos: 2 })
  for (const qos of [0, 1, 2]) await publish('a', 'x', { qos })
  await publish('b', 'y')
  const found = subscriber.received.filter(({ cmd }) => cmd === 'publish')
  expect(found.map(({ topic, properties }) => [topic, (properties as { topicAlias?: number })?.topicAlias])).toEqual([
    ['a', 1],
    ['', 1],
    ['', 1],
    ['b', undefined],
  ])
})

test('a message that takes long to deliver lets others run, and later ones keep their order', async () => {
  const { world } = fixture
  const clients: TestClient[] = []
  for (let number = 0; number < 30; number++) {
    const client = await fixture.connected({ clientId: `client ${number}` })
    await subscribe('a', { qos: 1 }, client)
    client.onSent = () => world.spend(1)
    clients.push(client)
  }
  const count = () => clients.filter((client) => client.received.some(({ cmd }) => cmd === 'publish')).length
  publisher.publish('a', 'first', { qos: 1, messageId: 1 })
  publisher.publish('a', 'second', { qos: 1, messageId: 2 })
  for (let last = count(); last < 30; last = count()) {
    expect(publisher.lines).toEqual([])
    for (let left = world.soonCount; left > 0; left--) world.step()
    expect(count() - last).toBeLessThanOrEqual(3)
  }
  await publisher.settle()
  expect(publisher.lines).toEqual(['puback 1', 'puback 2'])
  expect(new Set(clients.map((client) => messages(client).join()))).toEqual(new Set(['a first QoS 1,a second QoS 1']))
})
