import { expect } from 'vitest'
import { deviceActor, deviceAddress, registrarRecord, secretRecord } from '#actors/device/device'
import { unlimitedMemory } from '#actors/device/memory'
import { absentDevice, type DeviceState } from '#actors/device/state'
import { noDeviceFunctions } from '#actors/device/turn-runs'
import { type NoticeBus, noticeBus } from '#actors/notice-bus'
import { type TenantCommands, tenantAddress } from '#actors/tenant/commands'
import { tenantActor } from '#actors/tenant/tenant'
import { linkCodecs } from '#link/codecs'
import type { LinkOpening } from '#link/link'
import { Links } from '#link/links'
import type { OfferUrl } from '#link/offers'
import { Presence } from '#link/presence'
import type { Entry } from '#model/entry'
import type { HelloMessage } from '#model/link-message'
import type { AnyDefinition } from '#runtime/activation'
import type { Socket } from '#runtime/socket'
import { pack, unpack } from '#store/record-codec'
import type { StoreJournal } from '#store/store-journal'
import { StoreListing } from '#store/store-listing'
import { noRuleViews } from '#test/actors/acting-device'
import { noopUpdates } from '#test/actors/update/acting-update'
import { ServerMessage } from '#test/kit/link-messages'
import { ManualWorld, startMs } from '#test/runtime/manual-world'
import { type Faults, faultyStorage, RuntimeFixture, type RuntimeFixtureOptions } from '#test/runtime/runtime-fixture'

/** The device actor with the shapes of this journal, without rules. */
export function storedDeviceActor(journal: StoreJournal, startedAt = startMs) {
  return deviceActor({
    shapeById: (id) => journal.shapes.byId(id),
    startedAt,
    rules: noRuleViews,
    functions: noDeviceFunctions,
  })
}

const definitions = (notices: NoticeBus) => (journal: StoreJournal) =>
  [storedDeviceActor(journal), tenantActor(notices), noopUpdates] as unknown as AnyDefinition<Entry>[]

export type LinkProtocol = 'json' | 'msgpack'

type TestOpening = Partial<LinkOpening> & { readonly protocol?: LinkProtocol }

/** The time that devices have to answer. */
export const writeTimeoutMs = 10_000

export interface LinkFixtureOptions extends RuntimeFixtureOptions {
  readonly offerUrl?: OfferUrl
  readonly hasOtherNodes?: boolean
}

/** The link module with real actors, a store in memory, and test sockets. */
export class LinkFixture {
  readonly notices = noticeBus()
  readonly runtime: RuntimeFixture
  /** The faults of the store, unless a store was passed. */
  readonly faults: Faults
  readonly links: Links
  readonly presence: Presence
  readonly gaps: string[] = []
  readonly notAdmitted: string[] = []

  constructor({ offerUrl, hasOtherNodes = false, world = new ManualWorld(), ...options }: LinkFixtureOptions = {}) {
    const { backend, faults } = faultyStorage(world)
    this.faults = faults
    this.runtime = new RuntimeFixture({ definitions: definitions(this.notices), world, backend, ...options })
    const { system, journal } = this.runtime
    this.presence = new Presence({
      system,
      listing: new StoreListing(() => journal.storage),
      statusOf: (tenant, device) => this.links.statusOf(tenant, device),
      failed: (error) => this.runtime.bugs.push(String(error)),
    })
    this.links = new Links({
      system,
      intern: journal.shapes.intern,
      memory: unlimitedMemory,
      presence: this.presence,
      writeTimeoutMs,
      ...(offerUrl && { offerUrl }),
      hasOtherNodes,
      log: {
        gap: (_, device, after, seq) => this.gaps.push(`${device} ${after} ${seq}`),
        refused: (_, problem) => this.notAdmitted.push(problem.code),
        bug: (error) => {
          throw error
        },
      },
    })
    this.runtime.onCommitFailed = () => this.links.storageFailed()
  }

  static async open(options: LinkFixtureOptions = {}): Promise<LinkFixture> {
    const linkFixture = new LinkFixture(options)
    await linkFixture.runtime.open()
    return linkFixture
  }

  connect(opening: TestOpening = {}): TestLink {
    return new TestLink(this.links, opening)
  }

  /** A connection on which the device has sent HELLO. */
  async connected(device = 'A', more: Parameters<TestLink['hello']>[1] = {}, link = this.connect()): Promise<TestLink> {
    link.hello(device, more)
    await this.settle()
    return link
  }

  /** Adds a provisioning key. */
  async addKey(id: string, limits: { readonly maxDevices?: number; readonly expiresAt?: number } = {}): Promise<void> {
    this.runtime.ask(tenantAddress('default'), {
      type: 'add_provisioning_key',
      id,
      name: id,
      hash: new Uint8Array(32),
      maxDevices: limits.maxDevices ?? null,
      expiresAt: limits.expiresAt ?? null,
    })
    await this.settle()
  }

  /** Creates a device, with a secret by default. */
  async addDevice(
    device: string,
    more: Partial<TenantCommands['admit_device']> = { secretHash: new Uint8Array(32) },
  ): Promise<void> {
    this.runtime.ask(tenantAddress('default'), { type: 'admit_device', device, meta: {}, ...more })
    await this.settle()
  }

  /** The hash of a device's secret, in hex, and the key that registered it. */
  credentialsOf(device: string): { readonly secret: string | undefined; readonly registrar: unknown } {
    const address = deviceAddress('default', device)
    const hash = this.runtime.system.recordOf(address, secretRecord) as Uint8Array | undefined
    const registrar = this.runtime.system.recordOf(address, registrarRecord)
    return { secret: hash && Buffer.from(hash).toString('hex'), registrar }
  }

  device(device: string): DeviceState {
    return this.runtime.system.peek(deviceAddress('default', device)) ?? absentDevice(device)
  }

  /** `<device> <status>` of each published status change. */
  get statuses(): readonly string[] {
    return this.runtime.events.flatMap(({ event }) =>
      event.kind === 'status_changed' ? [`${event.device} ${event.status}`] : [],
    )
  }

  settle(): Promise<void> {
    return this.runtime.settle()
  }

  get world() {
    return this.runtime.world
  }
}

/** The device's end of a connection. */
export class TestLink implements Socket {
  readonly remoteAddress = 'test'
  readonly #links: Links
  readonly #protocol: LinkProtocol
  /** All frames from the server, in order and checked against the model. */
  readonly received: Record<string, unknown>[] = []
  readonly shortAcks: number[][] = []
  closedWith: number | undefined
  pings = 0
  /** Bytes that are not sent yet. */
  buffered = 0
  isAnswering = true

  constructor(links: Links, { protocol = 'json', ...opening }: TestOpening) {
    this.#links = links
    this.#protocol = protocol
    const codec = linkCodecs[`link.v1.${protocol}`]
    links.opened(this, { tenant: 'default', origin: 'http://here', codec, ...opening })
  }

  transmit(frame: unknown): void {
    if (this.#protocol === 'json') this.raw(Buffer.from(JSON.stringify(frame)), false)
    else this.raw(pack(frame), true)
  }

  raw(data: Uint8Array, isBinary: boolean): void {
    this.#links.received(this, data, isBinary)
  }

  hello(deviceIdentifier: string, more: Partial<Record<keyof HelloMessage, unknown>> = {}): void {
    const properties = [
      { propId: 1, type: 'UINT8' },
      { propId: 2, type: 'STRING' },
    ]
    const services = [{ serviceIdentifier: 'svc', properties }]
    this.transmit({ type: 'HELLO', deviceIdentifier, session: 'boot-1', services, ...more })
  }

  /** A short UPDATE of the first property. */
  update(flakeAddress: number, seq: number, value: unknown = seq % 256): void {
    this.transmit(['U', flakeAddress, seq, 0, [1, value]])
  }

  /** Type, code and numbers of each received frame, one line each. */
  get lines(): string[] {
    return this.received.map(({ type, code, seq, flakeAddress }) =>
      [type, code, flakeAddress === undefined ? undefined : `@${flakeAddress}`, seq]
        .filter((part) => part !== undefined)
        .join(' '),
    )
  }

  get address(): number {
    return this.received.findLast(({ type }) => type === 'WELCOME')?.flakeAddress as number
  }

  close(code = 1006): void {
    if (this.closedWith !== undefined) return
    this.closedWith = code
    this.#links.closed(this)
  }

  send(message: string | Uint8Array): boolean {
    if (this.closedWith !== undefined) throw new Error('send after closed')
    expect(typeof message).toBe(this.#protocol === 'json' ? 'string' : 'object')
    const frame = ServerMessage.parse(typeof message === 'string' ? JSON.parse(message) : unpack(message))
    if (Array.isArray(frame)) this.shortAcks.push([...frame].slice(1) as number[])
    const [, flakeAddress, seq] = Array.isArray(frame) ? frame : []
    this.received.push(Array.isArray(frame) ? { type: 'A', flakeAddress, seq } : { ...frame })
    return true
  }

  cork(task: () => void): void {
    if (this.closedWith !== undefined) throw new Error('cork after closed')
    task()
  }

  bufferedBytes(): number {
    return this.buffered
  }

  subscribe(): void {}

  unsubscribe(): void {}

  ping(): void {
    this.pings++
    if (this.isAnswering) this.#links.ponged(this)
  }

  end(code: number): void {
    this.close(code)
  }
}
