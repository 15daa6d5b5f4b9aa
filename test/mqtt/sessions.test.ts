import { beforeEach, describe, expect, test } from 'vitest'
import { MqttFixture, type TestClient } from '#test/mqtt/mqtt-fixture'

let fixture: MqttFixture
beforeEach(async () => {
  fixture = await MqttFixture.open()
})

const dayMs = 24 * 60 * 60_000
const persistent = (version: 4 | 5, expiryS = 3_600) => ({
  clean: false,
  ...(version === 5 && { properties: { sessionExpiryInterval: expiryS } }),
})
const isPresent = async (connect: Record<string, unknown>, version: 4 | 5 = 5) => {
  const client = fixture.client(version)
  return { client, isPresent: (await client.connect(connect)).sessionPresent }
}

describe('a session', () => {
  test.each([4, 5] as const)('lasts over connections and processes (version %s)', async (version) => {
    const first = await isPresent(persistent(version), version)
    first.client.cut()
    const second = await isPresent(persistent(version), version)
    fixture = await fixture.restart()
    const third = await isPresent(persistent(version), version)
    expect([first, second, third].map((each) => each.isPresent)).toEqual([false, true, true])
  })

  test('ends with a clean start, and belongs to its client identifier', async () => {
    const first = await isPresent(persistent(5))
    first.client.cut()
    expect((await isPresent({ ...persistent(5), clientId: 'another' })).isPresent).toBe(false)
    const clean = await isPresent({ clean: true })
    expect(clean.isPresent).toBe(false)
    clean.client.cut()
    expect((await isPresent(persistent(5))).isPresent).toBe(false)
  })

  test('without an expiry ends with its connection', async () => {
    const first = await isPresent({ clean: false })
    first.client.cut()
    expect((await isPresent({ clean: false })).isPresent).toBe(false)
  })

  test('expires after the connection, not during it', async () => {
    const first = await isPresent({ ...persistent(5), keepalive: 0 })
    await fixture.world.advance(10 * 3_600_000)
    first.client.cut()
    await fixture.world.advance(3_599_000)
    const second = await isPresent(persistent(5))
    expect(second.isPresent).toBe(true)
    second.client.cut()
    await fixture.world.advance(3_601_000)
    expect((await isPresent(persistent(5))).isPresent).toBe(false)
  })

  test('DISCONNECT sets another expiry; a session that is not persistent gets none', async () => {
    const first = await isPresent(persistent(5))
    first.client.transmit({ cmd: 'disconnect', reasonCode: 0, properties: { sessionExpiryInterval: 0 } })
    const second = await isPresent({ clean: false })
    expect(second.isPresent).toBe(false)
    second.client.transmit({ cmd: 'disconnect', reasonCode: 0, properties: { sessionExpiryInterval: 9 } })
    expect(second.client.take('disconnect').reasonCode).toBe(0x82)
  })

  test('is kept at most seven days, and CONNACK announces it', async () => {
    const client = fixture.client()
    const connack = await client.connect(persistent(5, 0xffff_ffff))
    expect(connack.properties).toMatchObject({ sessionExpiryInterval: (7 * dayMs) / 1_000 })
    client.cut()
    await fixture.world.advance(7 * dayMs + 1_000)
    expect((await isPresent(persistent(5))).isPresent).toBe(false)
  })

  test('CONNACK follows its commit; if the commit fails, the client is refused', async () => {
    const client = fixture.client()
    fixture.faults.next = { fail: 'io', reachedDisk: false }
    expect((await client.connect(persistent(5))).reasonCode).toBe(0x88)
    expect([client.isClosed, client.received.length]).toEqual([true, 1])
  })
})

const propertyCount = 40
const services = [
  {
    serviceIdentifier: 'svc',
    properties: Array.from({ length: propertyCount }, (_, index) => ({ propId: index + 1, type: 'BOOL' })),
  },
]

interface InFlight {
  readonly value: number
  isReceived: boolean
}

/** Publishes one report for each property, in a persistent session, as the standard requires. */
class Publisher {
  readonly #version: 4 | 5
  readonly #qos: 1 | 2
  readonly #inFlight = new Map<number, InFlight>()
  readonly #random: () => number
  #client: TestClient | undefined
  #seen = 0
  #next = 1
  #flakeAddress = 0
  #isConnected = false
  hasSession = false

  constructor(version: 4 | 5, qos: 1 | 2, random: () => number) {
    this.#version = version
    this.#qos = qos
    this.#random = random
  }

  get isDone(): boolean {
    return this.#next > propertyCount && this.#inFlight.size === 0
  }

  connect(): void {
    const client = fixture.client(this.#version)
    this.#client = client
    this.#seen = 0
    this.#isConnected = false
    client.transmit({ cmd: 'connect', clientId: 'publisher', keepalive: 0, ...persistent(this.#version) })
  }

  /** Reads the received packets, and publishes the next value if fewer than five wait for an answer. */
  turn(): void {
    const client = this.#client
    if (!client || client.isClosed) return
    while (this.#seen < client.received.length) this.#received(client, client.received[this.#seen++] as never)
    if (!this.#isConnected || this.#flakeAddress === 0 || this.#next > propertyCount || this.#inFlight.size >= 5) return
    const free = [1, 2, 3, 4, 5].find((id) => !this.#inFlight.has(id)) as number
    this.#inFlight.set(free, { value: this.#next++, isReceived: false })
    this.#publish(client, free, false)
  }

  #received(client: TestClient, packet: Record<string, unknown>): void {
    const id = packet.messageId as number
    if (packet.cmd === 'connack') this.#connected(client, packet.sessionPresent === true)
    else if (packet.cmd === 'publish') {
      const { type, flakeAddress } = JSON.parse(String(packet.payload))
      expect(type).toBe('WELCOME')
      this.#flakeAddress = flakeAddress
    } else if (packet.cmd === 'puback' || packet.cmd === 'pubcomp') this.#inFlight.delete(id)
    else if (packet.cmd === 'pubrec') {
      const sent = this.#inFlight.get(id)
      if (sent) sent.isReceived = true
      client.transmit({ cmd: 'pubrel', messageId: id })
    }
  }

  #connected(client: TestClient, isPresent: boolean): void {
    // A session may be stored although its CONNACK was lost, so it may also be present the first time.
    if (this.hasSession) expect(isPresent).toBe(true)
    this.hasSession = true
    this.#isConnected = true
    for (const [id, { isReceived }] of this.#inFlight) {
      if (isReceived) client.transmit({ cmd: 'pubrel', messageId: id })
      else this.#publish(client, id, this.#random() < 0.5)
    }
    if (this.#flakeAddress === 0 || this.#random() < 0.5) {
      client.report({ type: 'HELLO', deviceIdentifier: 'A', session: 'one', services })
    }
  }

  #publish(client: TestClient, id: number, dup: boolean): void {
    const updates = [{ propId: this.#inFlight.get(id)?.value, value: true }]
    const update = { type: 'UPDATE', flakeAddress: this.#flakeAddress, serviceIdentifier: 'svc', updates }
    client.report(update, { qos: this.#qos, messageId: id, dup })
  }
}

/** The random numbers of Park and Miller. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}

const rows = [4, 5].flatMap((version) => [1, 2].flatMap((qos) => [1, 2].map((seed) => [version, qos, seed])))

test.each(rows)(
  'version %s, QoS %s: no value is lost or repeated when the process is killed, seed %s',
  async (...row) => {
    const [version, qos, seed] = row as [4 | 5, 1 | 2, number]
    const random = randomFrom(seed * 7_919)
    const publisher = new Publisher(version, qos, random)
    let kills = 0
    publisher.connect()
    while (!publisher.isDone) {
      for (let step = Math.floor(random() * 60); step > 0 && !publisher.isDone; step--) {
        publisher.turn()
        fixture.world.step()
        if (random() < 0.3) await new Promise((resolve) => setImmediate(resolve))
      }
      if (publisher.isDone) break
      fixture = await fixture.restart(Math.floor(random() * 2))
      kills++
      publisher.connect()
    }
    await fixture.world.settle()
    const state = fixture.device('A')
    const values = Array.from({ length: propertyCount }, (_, index) => state?.services[0]?.stateOf(index))
    expect(values).toEqual(Array(propertyCount).fill(true))
    if (qos === 2) expect(state?.seq).toBe(propertyCount)
    expect([kills > 0, fixture.bugs]).toEqual([true, []])
  },
)

test('QoS 2: a repeated PUBREL is answered when the first one is stored', async () => {
  const { client } = await isPresent(persistent(4), 4)
  client.report({ type: 'HELLO', deviceIdentifier: 'A', services }, { qos: 2, messageId: 7 })
  await client.settle()
  client.received.length = 0
  for (let turn = 0; turn < 2; turn++) client.transmit({ cmd: 'pubrel', messageId: 7 })
  expect(client.lines).toEqual([])
  await client.settle()
  expect(client.lines).toEqual(['pubcomp 7', 'pubcomp 7'])
})

test('devices of a session are connected again after CONNACK, before their HELLO', async () => {
  const { client } = await isPresent(persistent(5))
  client.report({ type: 'HELLO', deviceIdentifier: 'A', session: 'one', services }, { qos: 1, messageId: 1 })
  await client.settle()
  fixture = await fixture.restart()
  const again = fixture.client()
  await again.connect(persistent(5))
  await again.settle()
  expect(again.received.map(({ cmd }) => cmd)).toEqual(['connack', 'publish'])
  expect(again.lines).toEqual(['publish v1/link/down WELCOME 0'])
})
