import { generate, type Packet, parser } from 'mqtt-packet'
import { onTestFinished } from 'vitest'
import { deviceAddress } from '#actors/device/device'
import type { DeviceState } from '#actors/device/state'
import { auditIndex, textOfEntry } from '#actors/tenant/state'
import { type Assembly, assemble } from '#app/assembly'
import type { Connection } from '#mqtt/connection'
import { Connections } from '#mqtt/connections'
import { principalFinder } from '#mqtt/credentials'
import { Topics } from '#mqtt/topics'
import type { Transport } from '#mqtt/transport'
import type { IdentityFixture } from '#test/access/identity-fixture'
import { memoryServerOptions } from '#test/memory-server'
import { ManualWorld } from '#test/runtime/manual-world'
import { during, type Faults, faultyStorage } from '#test/runtime/runtime-fixture'
import type { MemoryBackend } from '#test/store/memory'

/** Any packet, with the fields of its kind. */
export type AnyPacket = Packet & Record<string, unknown>

/** The whole server without network, in a manual world. */
export class MqttFixture {
  readonly world: ManualWorld
  readonly assembly: Assembly
  readonly backend: MemoryBackend
  readonly faults: Faults
  readonly connections: Connections
  readonly bugs: unknown[] = []
  isWritable = true
  #isKilled = false

  readonly hasFreeTopics: boolean

  constructor(world: ManualWorld, assembly: Assembly, backend: MemoryBackend, faults: Faults, hasFreeTopics = false) {
    this.hasFreeTopics = hasFreeTopics
    this.backend = backend
    this.world = world
    this.assembly = assembly
    this.faults = faults
    this.connections = new Connections({
      world,
      topics: new Topics({
        ...assembly.context,
        ...assembly.context.devices,
        ...assembly.context.events,
        hasFreeTopics,
      }),
      afterCommit: (callback) => assembly.context.system.gate.afterCommit(callback),
      principalOf: principalFinder(assembly.identity, assembly.context.audit),
      sessions: assembly.identity?.sockets,
      isWritable: () => this.isWritable,
      bug: (error) => this.bugs.push(error),
    })
  }

  /** With authentication off. `stored`: the store and the world of an earlier process. */
  static async open(stored?: MqttFixture, hasFreeTopics = stored?.hasFreeTopics ?? false): Promise<MqttFixture> {
    const world = stored?.world ?? new ManualWorld()
    const { backend, faults } = stored ?? faultyStorage(world)
    const options = memoryServerOptions(world)
    const assembly = assemble({ ...options, storage: { ...options.storage, backend } })
    await during(world, assembly.open())
    const fixture = new MqttFixture(world, assembly, backend, faults, hasFreeTopics)
    onTestFinished(async () => {
      if (!fixture.#isKilled) await during(world, assembly.close())
    })
    return fixture
  }

  /** Kills the process, and starts another one with the store. `writesKept`: writes in flight that reached the disk. */
  restart(writesKept = 0): Promise<MqttFixture> {
    this.#isKilled = true
    this.backend.crash(writesKept)
    this.world.kill()
    return MqttFixture.open(this)
  }

  static of({ world, assembly, backend, faults }: IdentityFixture): MqttFixture {
    return new MqttFixture(world, assembly, backend, faults, true)
  }

  client(version: 4 | 5 = 5, address = '192.0.2.7'): TestClient {
    return new TestClient(this, version, address)
  }

  /** Waits for reads of present values and for signatures, which take several turns of the event loop. */
  async settle(): Promise<void> {
    for (let turns = 0; turns < 10; turns++) {
      await this.world.settle()
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  /** The newest entry of the audit. */
  async newestAudit(): Promise<unknown> {
    const { system, listing } = this.assembly.context
    await during(this.world, system.gate.whenStored())
    const pages = listing.entries(auditIndex, 'default')
    const [newest] = await during(this.world, pages.next(1))
    await pages.close()
    return newest && JSON.parse(textOfEntry(newest))
  }

  device(device: string): DeviceState | undefined {
    return this.assembly.context.system.peek(deviceAddress('default', device)) as DeviceState | undefined
  }

  /** A client that has signed in. */
  async connected(connect: Record<string, unknown> = {}, version: 4 | 5 = 5): Promise<TestClient> {
    const client = this.client(version)
    await client.connect(connect)
    return client
  }
}

/** The other end of a connection, with another implementation of the packets. */
export class TestClient implements Transport {
  readonly address: string
  readonly version: 4 | 5
  readonly received: AnyPacket[] = []
  isClosed = false
  isPaused = false
  unsent = 0
  /** Called with each packet of the server. */
  onSent: () => void = () => {}
  readonly #fixture: MqttFixture
  readonly #connection: Connection | undefined
  readonly #parser

  constructor(fixture: MqttFixture, version: 4 | 5, address: string) {
    this.address = address
    this.version = version
    this.#fixture = fixture
    this.#parser = parser({ protocolVersion: version })
    this.#parser.on('packet', (packet) => this.received.push(packet as AnyPacket))
    this.#parser.on('error', (error: Error) => {
      throw error
    })
    this.#connection = fixture.connections.opened(this)
  }

  async connect(connect: Record<string, unknown> = {}): Promise<AnyPacket> {
    this.transmit({ cmd: 'connect', clientId: 'a client', clean: true, keepalive: 60, ...connect })
    await this.settle()
    return this.take('connack')
  }

  /** CONNECT with a token, whose signature another thread checks. */
  async connectByToken(connect: Record<string, unknown>): Promise<AnyPacket> {
    this.transmit({ cmd: 'connect', clean: true, keepalive: 60, ...connect })
    while (this.received.length === 0) await this.#fixture.settle()
    return this.take('connack')
  }

  /** Subscribes to one filter; returns its code. */
  async subscribe(topic: string, more: object = {}): Promise<unknown> {
    const { properties, ...options } = more as Record<string, unknown>
    const subscriptions = [{ topic, qos: 0, nl: false, rap: false, rh: 0, ...options }]
    this.transmit({ cmd: 'subscribe', messageId: 9, subscriptions, ...(properties ? { properties } : {}) })
    await this.#fixture.settle()
    return (this.take('suback').granted as unknown[])[0]
  }

  /** Publishes JSON on `v1/link`. */
  report(message: unknown, more: { qos?: 0 | 1 | 2; messageId?: number; dup?: boolean } = {}): void {
    this.publish('v1/link', JSON.stringify(message), more)
  }

  publish(topic: string, payload: string | Buffer, more: Record<string, unknown> = {}): void {
    this.transmit({ cmd: 'publish', topic, payload, qos: 0, dup: false, retain: false, ...more })
  }

  transmit(packet: Record<string, unknown>): void {
    const version = { protocolVersion: this.version }
    this.raw(generate({ protocolId: 'MQTT', ...version, ...packet } as unknown as Packet, version))
  }

  raw(bytes: Uint8Array): void {
    this.#connection?.received(bytes)
  }

  /** Breaks the connection. */
  cut(): void {
    this.isClosed = true
    this.#connection?.closed()
  }

  settle(): Promise<void> {
    return this.#fixture.world.settle()
  }

  /** The last packet of this kind. @throws Error if there is none */
  take(cmd: Packet['cmd']): AnyPacket {
    const packet = this.received.findLast((each) => each.cmd === cmd)
    if (!packet) throw new Error(`no ${cmd}, but ${this.lines.join(', ')}`)
    return packet
  }

  /** Kind, identifier and reason of each packet, without CONNACK. */
  get lines(): string[] {
    return this.received
      .filter(({ cmd }) => cmd !== 'connack')
      .map(({ cmd, messageId, reasonCode, topic, payload }) =>
        [cmd, messageId, reasonCode ? `0x${Number(reasonCode).toString(16)}` : undefined, topic, messageOf(payload)]
          .filter((part) => part !== undefined && part !== null)
          .join(' '),
      )
  }

  send(packet: Uint8Array): void {
    this.onSent()
    if (!this.isClosed) this.#parser.parse(Buffer.from(packet))
  }

  unsentBytes(): number {
    return this.unsent
  }

  pause(): void {
    this.isPaused = true
  }

  resume(): void {
    this.isPaused = false
  }

  close(): void {
    this.isClosed = true
  }
}

/** Type, code and number of a JSON message of the server; another payload as text. */
function messageOf(payload: unknown): string | undefined {
  if (!(payload instanceof Uint8Array)) return undefined
  const text = Buffer.from(payload).toString()
  try {
    const { type, code, seq } = JSON.parse(text)
    return [type, code, seq].filter((part) => part !== undefined).join(' ')
  } catch {
    return text
  }
}
