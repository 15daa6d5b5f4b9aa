import { beforeEach, describe, expect, test, vi } from 'vitest'
import { Problem } from '#model/problem'
import { MqttFixture, type TestClient } from '#test/mqtt/mqtt-fixture'

/** Events, values and the status of devices by subscription. */

let fixture: MqttFixture
let reader: TestClient
let device: TestClient
beforeEach(async () => {
  fixture = await MqttFixture.open()
  device = await fixture.connected({ username: 'PUMP-1', clientId: 'device' })
  reader = await fixture.connected({ clientId: 'reader' })
})

const lasting = { clientId: 'lasting', clean: false, properties: { sessionExpiryInterval: 3_600 } }

async function report(values: object, topic = 'v1/devices/me/telemetry'): Promise<void> {
  device.publish(topic, JSON.stringify(values))
  await device.settle()
}

const subscribe = (topic: string, more: object = {}, client = reader) => client.subscribe(topic, more)

/** Topic, payload and flags of each message. */
const messages = (client = reader) =>
  client.received
    .filter(({ cmd }) => cmd === 'publish')
    .map(({ topic, payload, qos, retain }) => `${topic} ${payload}${qos ? ' QoS 1' : ''}${retain ? ' retained' : ''}`)

const events = (client = reader) =>
  client.received
    .filter(({ topic }) => String(topic).startsWith('v1/events/'))
    .map(({ topic, payload }) => [topic, JSON.parse(String(payload))] as const)

test.each<[string, readonly string[]]>([
  ['v1/events/#', ['v1/events/~/telemetry', 'v1/events/PUMP-1/telemetry', 'v1/events/PUMP-1/~']],
  ['v1/events/+/+', ['v1/events/~/telemetry', 'v1/events/PUMP-1/telemetry', 'v1/events/PUMP-1/~']],
  ['v1/events/PUMP-1/#', ['v1/events/PUMP-1/telemetry', 'v1/events/PUMP-1/~']],
  ['v1/events/+/telemetry', ['v1/events/~/telemetry', 'v1/events/PUMP-1/telemetry']],
  ['v1/events/~/#', ['v1/events/~/telemetry']],
  ['v1/events/PUMP-2/#', []],
])('events by filter: %s', async (filter, expected) => {
  await report({ a: 0 })
  expect(await subscribe(filter)).toBe(0)
  await report({ b: 1 })
  await fixture.world.advance(1_000)
  device.cut()
  await fixture.settle()
  expect(
    events()
      .map(([topic]) => topic)
      .sort(),
  ).toEqual([...expected].sort())
})

test('the message of an event is its JSON', async () => {
  await report({ a: 0 })
  await subscribe('v1/events/PUMP-1/telemetry')
  await report({ a: 1 })
  expect(events()[0]?.[1]).toMatchObject({
    type: 'OBJECT_UPDATED',
    offset: expect.any(Number),
    deviceIdentifier: 'PUMP-1',
    serviceIdentifier: 'telemetry',
    updates: [{ tag: 'value', propId: 0x2000, value: 1 }],
  })
})

test('values are sent at SUBSCRIBE, and then each change', async () => {
  await report({ a: 1, 'b/c': true, d: 'text' })
  await subscribe('v1/state/PUMP-1/telemetry/+')
  expect(messages()).toEqual([
    'v1/state/PUMP-1/telemetry/a 1 retained',
    'v1/state/PUMP-1/telemetry/b%2Fc true retained',
    'v1/state/PUMP-1/telemetry/d text retained',
  ])
  reader.received.length = 0
  await report({ a: 2, d: 5 })
  expect(messages()).toEqual(['v1/state/PUMP-1/telemetry/a 2', 'v1/state/PUMP-1/telemetry/d '])
})

test('the status of a device is sent at SUBSCRIBE, and then each change', async () => {
  await report({ a: 1 })
  await subscribe('v1/meta/+')
  device.cut()
  await fixture.settle()
  expect(messages()).toEqual(['v1/meta/PUMP-1 {"status":"online"} retained', 'v1/meta/PUMP-1 {"status":"offline"}'])
})

test.each<[string, object, number]>([
  ['retain handling 0', { rh: 0 }, 2],
  ['retain handling 1', { rh: 1 }, 1],
  ['retain handling 2', { rh: 2 }, 0],
])('%s decides about values at SUBSCRIBE', async (_, options, count) => {
  await report({ a: 1 })
  for (const _time of ['first', 'again']) await subscribe('v1/state/#', options)
  expect(messages()).toHaveLength(count)
})

test('retain as published keeps the flag of later changes', async () => {
  await report({ a: 1 })
  await subscribe('v1/state/#', { rap: true, rh: 2 })
  await report({ a: 2 })
  expect(messages()).toEqual(['v1/state/PUMP-1/telemetry/a 2 retained'])
})

test('filters that overlap send one message, with their identifiers and the highest QoS', async () => {
  await subscribe('v1/events/#', { properties: { subscriptionIdentifier: 5 } })
  await subscribe('v1/events/+/telemetry', { qos: 2, properties: { subscriptionIdentifier: 300 } })
  await report({ a: 1 })
  const found = reader.received.filter(({ topic }) => topic === 'v1/events/PUMP-1/telemetry')
  expect(found.map(({ qos, properties }) => [qos, properties])).toEqual([[1, { subscriptionIdentifier: [5, 300] }]])
})

test('after UNSUBSCRIBE nothing is sent', async () => {
  await subscribe('v1/events/#')
  reader.transmit({ cmd: 'unsubscribe', messageId: 10, unsubscriptions: ['v1/events/#'] })
  await report({ a: 1 })
  expect(messages()).toEqual([])
})

test.each([
  ['#', 0x8f],
  ['v1/#', 0x8f],
  ['v1/+/PUMP-1', 0x8f],
  ['v1/history/#', 0x8f],
  ['v1/state/#', 1],
])('SUBSCRIBE to %s with QoS 2 is answered by %s', async (filter, code) => {
  expect(await subscribe(filter, { qos: 2 })).toBe(code)
})

test('a client has at most 100 subscriptions', async () => {
  for (let place = 0; place < 100; place++) expect(await subscribe(`v1/events/D${place}/+`)).toBe(0)
  expect(await subscribe('v1/events/+/+')).toBe(0x97)
  expect(await subscribe('v1/events/D1/+')).toBe(0)
})

test('a hundred subscriptions may wait for their values, also repeated ones', async () => {
  const subscriptions = Array(100).fill({ topic: 'v1/state/#', qos: 0 })
  const granted = [1, 2].map((messageId) => {
    reader.transmit({ cmd: 'subscribe', messageId, subscriptions })
    return new Set(reader.take('suback').granted as number[])
  })
  expect(granted).toEqual([new Set([0]), new Set([0x97])])
})

test('with QoS 1 no more is in flight than the client takes, and the rest follows in order', async () => {
  reader = await fixture.connected({ clientId: 'slow', properties: { receiveMaximum: 2 } })
  await subscribe('v1/events/PUMP-1/telemetry', { qos: 1 })
  for (let value = 1; value <= 5; value++) await report({ a: value })
  const sent = () => events().map(([, { updates }]) => updates[0].value)
  expect(sent()).toEqual([1, 2])
  for (let acknowledged = 0; acknowledged < 5; acknowledged++) {
    const packet = reader.received.filter(({ cmd }) => cmd === 'publish')[acknowledged]
    reader.transmit({ cmd: 'puback', messageId: packet?.messageId })
  }
  expect(sent()).toEqual([1, 2, 3, 4, 5])
})

test('changes come before the present values that contain them', async () => {
  const topic = 'v1/state/PUMP-1/telemetry/a'
  await report({ a: 0 })
  await subscribe(topic, { rh: 2 })
  const { system } = fixture.assembly.context
  const peek = system.peek.bind(system)
  vi.spyOn(system, 'peek').mockImplementationOnce((address) => {
    for (const value of [1, 2]) device.publish('v1/devices/me/telemetry', JSON.stringify({ a: value }))
    return peek(address)
  })
  await subscribe(topic)
  expect(messages()).toEqual([`${topic} 1`, `${topic} 2`, `${topic} 2 retained`])
})

test('a gap comes after the events that were published before it', async () => {
  await report({ a: 0 })
  await subscribe('v1/events/#')
  const { hub } = fixture.assembly.context.events
  device.onSent = () => hub.reloaded(() => 1, true)
  device.publish('v1/devices/me/telemetry', '{"a":1}', { qos: 1, messageId: 5 })
  await fixture.settle()
  expect(events().map(([topic]) => topic)).toEqual(['v1/events/PUMP-1/telemetry', 'v1/events/$resync'])
})

describe('a persistent session', () => {
  const valuesOf = (client: TestClient) =>
    events(client).flatMap(([, { updates = [] }]) => updates.map(({ value }: { value: unknown }) => value))
  const acknowledgeAll = (client: TestClient) => {
    for (const { cmd, qos, messageId } of client.received) {
      if (cmd === 'publish' && qos) client.transmit({ cmd: 'puback', messageId })
    }
  }

  test.each([
    ['the same process', false],
    ['another process', true],
  ])('continues where it was: %s', async (_, isRestarted) => {
    await report({ a: 0 })
    const first = await fixture.connected(lasting)
    await subscribe('v1/events/PUMP-1/telemetry', { qos: 1 }, first)
    await report({ a: 1 })
    acknowledgeAll(first)
    await report({ a: 2 })
    first.cut()
    await first.settle()
    await report({ a: 3 })
    if (isRestarted) {
      fixture = await fixture.restart()
      device = await fixture.connected({ username: 'PUMP-1', clientId: 'device' })
    }
    const second = await fixture.connected(lasting)
    await fixture.settle()
    await report({ a: 4 })
    expect(valuesOf(second)).toEqual([2, 3, 4])
  })

  test('continues with an event that was published in the cycle in which the connection ended', async () => {
    await report({ a: 0 })
    const first = await fixture.connected(lasting)
    await subscribe('v1/events/PUMP-1/telemetry', { qos: 1 }, first)
    device.onSent = () => {
      if (!first.isClosed) first.cut()
    }
    device.publish('v1/devices/me/telemetry', '{"a":1}', { qos: 1, messageId: 5 })
    await device.settle()
    expect(first.isClosed).toBe(true)
    const second = await fixture.connected(lasting)
    await fixture.settle()
    expect(valuesOf(second)).toEqual([1])
  })

  test('to which an event could not be sent, because the store was not available, reads its values again', async () => {
    await report({ a: 0 })
    const first = await fixture.connected(lasting)
    await subscribe('v1/state/#', { qos: 1, rh: 2 }, first)
    const { system } = fixture.assembly.context
    device.onSent = () => {
      device.onSent = () => {}
      vi.spyOn(system, 'wake').mockImplementationOnce(() => {
        throw new Problem('storage')
      })
    }
    device.publish('v1/devices/me/telemetry', '{"a":1}', { qos: 1, messageId: 5 })
    await fixture.settle()
    expect(first.isClosed).toBe(true)
    const second = await fixture.connected(lasting)
    await fixture.settle()
    const value = 'v1/state/PUMP-1/telemetry/a 1'
    expect([...messages(first), ...messages(second)].filter((text) => text.startsWith(value))).toEqual([
      `${value} QoS 1 retained`,
    ])
  })

  test('after a kill of the process nothing is missing; the last ten seconds may come twice', async () => {
    const first = await fixture.connected(lasting)
    await subscribe('v1/events/PUMP-1/telemetry', { qos: 1 }, first)
    for (const value of [1, 2]) {
      await report({ a: value })
      acknowledgeAll(first)
      await fixture.world.advance(11_000)
    }
    await report({ a: 3 })
    acknowledgeAll(first)
    fixture = await fixture.restart()
    const second = await fixture.connected(lasting)
    await fixture.settle()
    expect(valuesOf(second)).toEqual([3])
  })

  test('values that changed meanwhile are sent as changes', async () => {
    await report({ a: 1, b: 1 })
    const first = await fixture.connected(lasting)
    await subscribe('v1/state/PUMP-1/#', { qos: 1 }, first)
    acknowledgeAll(first)
    first.cut()
    await report({ a: 2 })
    const second = await fixture.connected(lasting)
    await fixture.settle()
    expect(messages(second)).toEqual(['v1/state/PUMP-1/telemetry/a 2 QoS 1'])
  })

  test('one message replaces the missed events if the position of the client is unknown', async () => {
    const first = await fixture.connected(lasting)
    await subscribe('v1/events/#', {}, first)
    await report({ a: 1 })
    await subscribe('v1/state/#', { qos: 1 }, first)
    first.cut()
    await first.settle()
    const second = await fixture.connected(lasting)
    await fixture.settle()
    // The client did not acknowledge the present values, so its position is unknown.
    expect(messages(second)).toEqual([
      'v1/events/$resync {"type":"RESYNC"}',
      'v1/state/PUMP-1/telemetry/a 1 QoS 1 retained',
    ])
  })
})

describe('v1/set', () => {
  const services = [
    {
      serviceIdentifier: 'svc',
      properties: [
        { propId: 1, type: 'FLOAT' },
        { propId: 2, type: 'STRING' },
        { propId: 3, type: 'UINT8-ARRAY' },
        { propId: 4, type: 'BOOL', modifier: { isReadOnly: true } },
      ],
    },
  ]

  async function set(topic: string, payload: string | Buffer, qos: 1 | 2 = 1, messageId = 1) {
    reader.publish(`v1/set/${topic}`, payload, { qos, messageId })
    await fixture.settle()
    return reader.take(qos === 1 ? 'puback' : 'pubrec')
  }

  const writes = () => device.received.filter(({ payload }) => String(payload).includes('WRITE'))
  const lastWrite = () => JSON.parse(String(device.take('publish').payload)).updates

  beforeEach(async () => {
    device.report({ type: 'HELLO', deviceIdentifier: 'PUMP-1', services })
    await device.settle()
  })

  test.each<[string, string, object]>([
    ['PUMP-1/svc/0x0001', '21.5', { propId: 1, value: 21.5 }],
    ['pump-1/svc/1', '3', { propId: 1, value: 3 }],
    ['PUMP-1/svc/2', '21.5', { propId: 2, value: '21.5' }],
    ['PUMP-1/svc/2', '', { propId: 2, value: '' }],
    ['PUMP-1/svc/3', '[1,2]', { propId: 3, value: [1, 2] }],
  ])('writes: %s %s', async (topic, payload, expected) => {
    expect((await set(topic, payload)).reasonCode).toBe(0)
    expect(lastWrite()).toEqual([expected])
    expect(await fixture.newestAudit()).toMatchObject({ path: `v1/set/${topic}`, status: 202 })
  })

  test.each<[string, string, string | Buffer, number]>([
    ['no property', 'PUMP-1/svc', '1', 0x90],
    ['a level too much', 'PUMP-1/svc/1/2', '1', 0x90],
    ['bad percent-encoding', 'PUMP-1/svc/%', '1', 0x90],
    ['an unknown device', 'PUMP-2/svc/1', '1', 0x90],
    ['an unknown property', 'PUMP-1/svc/9', '1', 0x90],
    ['another type', 'PUMP-1/svc/1', 'text', 0x99],
    ['invalid UTF-8', 'PUMP-1/svc/2', Buffer.from([0xff]), 0x99],
    ['a read-only property', 'PUMP-1/svc/4', 'true', 0x99],
  ])('is refused: %s', async (_, topic, payload, reason) => {
    const { reasonCode, properties } = await set(topic, payload)
    expect([reasonCode, properties]).toEqual([reason, { reasonString: expect.stringMatching(/./) }])
  })

  test('is refused while the device is offline', async () => {
    device.cut()
    await fixture.settle()
    expect(await set('PUMP-1/svc/1', '1')).toMatchObject({ reasonCode: 0x83, properties: expect.anything() })
  })

  test('QoS 2: the same identifier is one write', async () => {
    for (let time = 0; time < 3; time++) await set('PUMP-1/svc/1', '5', 2, 8)
    expect(writes()).toHaveLength(1)
  })

  test('QoS 2: a message that is sent again in the next connection of its session is the same write', async () => {
    for (let time = 0; time < 2; time++) {
      reader = await fixture.connected(lasting)
      expect((await set('PUMP-1/svc/1', '5', 2, 8)).reasonCode).toBe(0)
      reader.cut()
    }
    expect(writes()).toHaveLength(1)
    reader = await fixture.connected(lasting)
    reader.transmit({ cmd: 'pubrel', messageId: 8 })
    await fixture.settle()
    await set('PUMP-1/svc/1', '6', 2, 8)
    expect(writes()).toHaveLength(2)
  })
})
